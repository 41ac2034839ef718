"""The Triton kernel of `fused_sample`, in the interpreter, against its twin and DeepInfer 0.1.0's recorded outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from deepinfer.rng.reference import words_many
from deepinfer.sampling import SampleResult, SamplerInputs, sample
from deepinfer.sampling.params import prepare
from deepinfer.sampling.spec import ONE, cdf_order, rejection_limit

torch = pytest.importorskip("torch")
triton_impl = pytest.importorskip("deepinfer.sampling.fused_sample.triton_impl")
from deepinfer.sampling.fused_sample.triton_impl_tensors import sample_tensors  # noqa: E402

pytestmark = pytest.mark.usefixtures("quick_interpreter")

ROWS = 48
CONFIGS = {
    "engine": (1.0, 0.99, -1),
    "narrow": (1.0, 0.5, 128),
    "nofilter": (1.0, 1.0, -1),
    "k50p.9": (1.0, 0.9, 50),
    "k1": (1.0, 1.0, 1),
}
SIDE_BOUND = 1024
"""Units of 2^-31 that a row's mass or total may be off by: rounding errors of 4096 columns, not all of one sign."""


def triton(inputs: SamplerInputs, *, shape: dict[str, int] | None = None, **options: Any) -> SampleResult:
    plan = prepare("fused_sample", inputs, **options)
    return triton_impl.sample(plan, **(shape or {}))


def twin(inputs: SamplerInputs, **options: Any) -> SampleResult:
    return sample("fused_sample", inputs, backend="reference", **options)


@pytest.fixture(scope="module")
def real(quick_interpreter: None) -> dict[str, tuple[SampleResult, SampleResult, np.ndarray]]:
    """(kernel, twin, recorded tokens) of the first rows of real logits, by config."""
    data = np.load(Path(__file__).parents[3] / "harness" / "data" / "deepinfer-0.1.0" / "real.npz")
    made = {}
    for name, (temperature, top_p, top_k) in CONFIGS.items():
        inputs = SamplerInputs(
            data["logits"][:ROWS], temperature, top_p, top_k, data["seeds"][:ROWS], data["positions"][:ROWS]
        )
        options = {"numbering": "deepinfer"}
        made[name] = triton(inputs, **options), twin(inputs, **options), data[f"{name}.tokens"][:ROWS]
    return made


def assert_integer_part(got: SampleResult) -> None:
    """From the row's weights on everything is exact: total, limit, the stream's words, residue, token."""
    record = got.record
    assert record.weights is not None
    assert record.kept is not None
    assert got.logprobs is not None
    columns = record.weights.shape[1]
    order = cdf_order(columns)
    drawn = np.flatnonzero(record.word_count)
    assert drawn.size
    for row in drawn.tolist():
        weight = record.weights[row].astype(np.uint64)
        total = int(weight.sum())
        assert int(record.total[row]) == total
        modulo = record.draw == "modulo_reject"
        limit = rejection_limit(total) if modulo else 2**32
        assert int(record.limit[row]) == limit
        count = int(record.word_count[row])
        key = [np.asarray([x], np.uint64) for x in (record.seeds[row], record.subsequences[row], 0)]
        words = words_many(*key, count)[0].tolist()
        assert record.words[row, :count].tolist() == words
        assert not record.words[row, count:].any()
        assert [word < limit for word in words] == [False] * (count - 1) + [True]
        residue = words[-1] % total if modulo else words[-1] * total >> 32
        assert int(record.residue[row]) == residue
        cdf = np.cumsum(weight[order])
        assert got.tokens[row] == order[np.searchsorted(cdf, residue, side="right")]


def assert_weights(got: SampleResult) -> None:
    """Fresh rows: w = floor(exp(lp) * 2^31) of the kernel's own log-probability, 0 where dropped. The interpreter's exp
    is within 2 ULP plus one rounding of lp * log2(e)."""
    assert got.logprobs is not None
    assert got.record.weights is not None
    lp = np.maximum(got.logprobs.astype(np.float64), -100)
    exact = np.exp(lp) * ONE
    error = np.abs(got.record.weights - np.floor(exact))
    assert (error <= 1 + exact * (2.0**-22 - lp * 2.0**-23)).all()
    assert (got.record.weights[np.isneginf(got.logprobs)] == 0).all()


def lp_ulps(got: SampleResult, expected: SampleResult) -> float:
    """The largest distance of log-probabilities in ULP of max(|lp|, 1), over columns that both keep."""
    assert got.logprobs is not None
    assert expected.logprobs is not None
    both = np.isfinite(got.logprobs) & np.isfinite(expected.logprobs)
    wanted = expected.logprobs[both]
    unit = np.spacing(np.maximum(np.abs(wanted), np.float32(1)))
    return float((np.abs(got.logprobs[both].astype(np.float64) - wanted) / unit).max(initial=0))


@pytest.mark.parametrize("config", CONFIGS)
def test_integer_part_is_exact(real: Any, config: str) -> None:
    got, _, _ = real[config]
    assert (got.record.word_count > 0).all()
    assert_integer_part(got)
    assert_weights(got)
    assert got.record.order == "fixed37"


@pytest.mark.parametrize("config", CONFIGS)
def test_kept_sets_are_the_twins_or_cross_the_threshold(real: Any, config: str) -> None:
    got, expected, _ = real[config]
    assert got.record.kept is not None
    assert expected.record.kept is not None
    differing = np.flatnonzero((got.record.kept != expected.record.kept).any(axis=1))
    assert len(differing) <= 1
    for row in differing.tolist():
        top_p = np.float64(np.float32(CONFIGS[config][1]))
        before = np.exp(expected.logprobs[row].astype(np.float64))[expected.record.kept[row]].sum()
        assert abs(before - top_p) * ONE <= SIDE_BOUND
    same = np.setdiff1d(np.arange(ROWS), differing)
    assert np.array_equal(got.record.threshold[same], expected.record.threshold[same])
    assert np.array_equal(got.record.sel[same], expected.record.sel[same])


@pytest.mark.parametrize("config", CONFIGS)
def test_logprobs_are_within_two_ulp_of_the_twin(real: Any, config: str) -> None:
    got, expected, _ = real[config]
    assert lp_ulps(got, expected) <= 2
    assert np.array_equal(got.record.lse[:, 1], expected.record.lse[:, 1])


@pytest.mark.parametrize("config", CONFIGS)
def test_recorded_tokens_agree_or_stand_on_the_other_side_of_the_step(real: Any, config: str) -> None:
    """A row that disagrees with DeepInfer has its total beside 2^31, and the other side's limit restores the token."""
    got, _, recorded = real[config]
    record = got.record
    differing = np.flatnonzero(got.tokens != recorded)
    assert len(differing) <= (0 if config in ("nofilter", "k1") else 9)
    for row in differing.tolist():
        total = int(record.total[row])
        assert abs(total - ONE) <= SIDE_BOUND
        limit = total if total < ONE else 2 * total
        key = [np.asarray([x], np.uint64) for x in (record.seeds[row], record.subsequences[row], 0)]
        word = next(w for w in words_many(*key, 64)[0].tolist() if w < limit)
        cdf = np.cumsum(record.weights[row].astype(np.uint64))
        assert np.searchsorted(cdf, word % total, side="right") == recorded[row]


def test_another_seed_draws_other_tokens(real: Any, recordings: Path) -> None:
    """The control of every agreement above."""
    data = np.load(recordings / "real.npz")
    inputs = SamplerInputs(data["logits"][:ROWS], 1.0, 0.99, -1, data["seeds"][:ROWS] + np.uint64(1))
    got = triton(inputs)
    assert (got.tokens != real["engine"][0].tokens).mean() > 0.25
    assert np.array_equal(got.record.kept, real["engine"][0].record.kept)


@pytest.mark.parametrize("config", ["engine", "nofilter"])
def test_verification_is_the_recorded_one(recordings: Path, config: str) -> None:
    data = np.load(recordings / "verify.npz")
    rows = slice(0, 96)
    temperature, top_p, top_k = CONFIGS[config]
    draft = (data["draft_logprobs"][rows], data["draft_ids"][rows], data["is_verify"][rows])
    inputs = SamplerInputs(
        data["logits"][rows], temperature, top_p, top_k, data["seeds"][rows], data["positions"][rows], *draft
    )
    got, expected = triton(inputs, numbering="deepinfer"), twin(inputs, numbering="deepinfer")
    verify = draft[2]
    assert {(v, a) for v, a in zip(verify.tolist(), got.accept.tolist(), strict=True)} == {
        (True, True), (True, False), (False, True),
    }  # fmt: skip
    assert np.array_equal(got.accept, data[f"{config}.accept"][rows])
    assert np.array_equal(got.tokens[verify], data[f"{config}.tokens"][rows][verify])
    assert np.abs(got.accept_prob - data[f"{config}.accept_probs"][rows]).max() <= 1e-6
    assert np.array_equal(got.draft_logprob, expected.draft_logprob)
    for name in ("accept_word", "purpose", "subsequences", "status"):
        assert np.array_equal(getattr(got.record, name), getattr(expected.record, name)), name
    assert_integer_part(got)
    accepted = verify & got.accept
    assert not got.record.total[accepted].any()
    assert not got.record.word_count[accepted].any()


def test_penalty_residual_has_the_twins_weights_and_tokens(recordings: Path) -> None:
    data = np.load(recordings / "penalty_residual.npz")
    x = np.zeros((24, 4096), np.float32)
    x[:, 0], x[:, -2:] = -np.inf, 0.005
    inputs = SamplerInputs(
        x, seq_seed=np.arange(24), draft_logprobs=data["draft_logprobs"], draft_ids=data["draft_ids"], is_verify=True
    )
    got, expected = triton(inputs), twin(inputs)
    assert np.array_equal(got.accept, data["accept"])
    assert np.abs(got.accept_prob - expected.accept_prob).max() <= 1e-6
    assert_integer_part(got)
    if np.array_equal(got.record.lse0, expected.record.lse0):
        assert np.array_equal(got.record.weights, expected.record.weights)
        assert np.array_equal(got.tokens, expected.tokens)
    else:  # 4093 equal columns turn one ULP of lse0 into one unit of each weight
        assert np.array_equal(got.record.lse0, np.nextafter(expected.record.lse0, np.float32(0)))
        assert np.array_equal(got.tokens, data["tokens"])


def test_u_of_exactly_one_rejects_a_certain_draft_and_zero_residual_takes_the_first_maximum() -> None:
    """With seed 0, the acceptance words of positions 16964503 and 31413796 are 0xfffffff3 (u = 1) and 0xffffff0d."""
    x = np.asarray([[-np.inf, 0.0, -np.inf, -np.inf, -np.inf]] * 2, np.float32)
    inputs = SamplerInputs(x, position=[16964503, 31413796], draft_logprobs=x, draft_ids=1, is_verify=True)
    got, expected = triton(inputs), twin(inputs)
    assert got.accept.tolist() == [False, True]
    assert got.tokens.tolist() == [1, 1]
    assert got.record.accept_word.tolist() == [0xFFFFFFF3, 0xFFFFFF0D]
    assert got.record.purpose.tolist() == [1, 0]
    y = np.asarray([[0.0, 2.0, 2.0, 1.0]], np.float32)
    zero = SamplerInputs(y, draft_logprobs=np.zeros_like(y), draft_ids=-1, is_verify=True)
    got, expected = triton(zero), twin(zero)
    for result in (got, expected):
        assert (result.tokens[0], bool(result.accept[0]), result.accept_prob[0]) == (1, False, 1)
        assert result.record.status.tolist() == [0]
        assert result.record.total.tolist() == [0]


def mixed(columns: int, rows: int, seed: int) -> SamplerInputs:
    """Rows of every kind: normal and coarse logits (ties), dropped columns, both zeros, temperatures from 0 to 1e30."""
    generator = np.random.default_rng(seed)
    x = generator.normal(0, 3, (rows, columns)).astype(np.float32)
    x[1::4] = np.round(x[1::4])
    x[2::4, 1 : columns // 2] = -np.inf
    x[3::4] = np.where(generator.random((len(x[3::4]), columns)) < 0.5, np.float32(0), np.float32(-0.0))
    return SamplerInputs(
        x,
        generator.choice(np.asarray([0, 1e-30, 1e-5, 0.7, 1, 1, 1, 2, 1e30], np.float32), rows),
        generator.choice(np.asarray([1, 1, 0.99, 0.9, 0.5, 1e-6], np.float32), rows),
        generator.choice([-1, -1, 1, 2, 7, 50], rows),
        generator.integers(0, 2**64, rows, np.uint64),
        generator.integers(0, 2**62, rows),
    )


OPTIONS = {
    "plain": {},
    "shift": {"draw": "multiply_shift"},
    "ordered": {"filter_order": "top_k_first", "min_p": 0.02},
}
EDGES = [
    *((columns, options) for columns in (1, 2, 37, 1000) for options in OPTIONS),
    (4097, "ordered"),
    (8191, "shift"),
    (8193, "ordered"),
]


@pytest.mark.parametrize(("columns", "options"), EDGES)
def test_edges_are_the_twins(columns: int, options: str) -> None:
    """Statuses, kept sets and greedy rows are the twin's; the rest follows from the row's own weights, exactly."""
    inputs = mixed(columns, 24 if columns < 4096 else 8, columns)
    got, expected = triton(inputs, **OPTIONS[options]), twin(inputs, **OPTIONS[options])
    assert np.array_equal(got.record.status, expected.record.status)
    assert_integer_part(got)
    assert_weights(got)
    greedy = got.record.word_count == 0
    assert np.array_equal(greedy, np.asarray(inputs.temperature) == 0)
    for name in ("tokens", "logprobs"):
        assert np.array_equal(getattr(got, name)[greedy], getattr(expected, name)[greedy]), name
    for field in fields(got.record):
        value, wanted = getattr(got.record, field.name), getattr(expected.record, field.name)
        if field.name not in ("backend", "order"):
            assert np.asarray(value).dtype == np.asarray(wanted).dtype, field.name
            if np.ndim(value):
                assert np.array_equal(value[greedy], wanted[greedy], equal_nan=np.asarray(value).dtype.kind == "f")
    moved = np.flatnonzero((got.record.kept != expected.record.kept).any(axis=1))
    assert len(moved) <= 1
    for row in moved.tolist():
        assert (got.record.kept[row] != expected.record.kept[row]).sum() == 1


def arrays_of(result: SampleResult) -> dict[str, np.ndarray]:
    """Every array of a result and its record, as integers."""
    record = {x.name: getattr(result.record, x.name) for x in fields(result.record)}
    named = {**{x.name: getattr(result, x.name) for x in fields(result)}, **record}
    arrays = {name: value for name, value in named.items() if isinstance(value, np.ndarray)}
    return {name: value.view(f"u{value.dtype.itemsize}") for name, value in arrays.items()}


def assert_bits_equal(one: SampleResult, other: SampleResult) -> None:
    first, second = arrays_of(one), arrays_of(other)
    assert first.keys() == second.keys()
    assert len(first) >= 16
    for name in first:
        assert np.array_equal(first[name], second[name]), name


@pytest.mark.parametrize(
    ("columns", "shapes", "options"),
    [
        (100, [{"tile": 64}, {"tile": 256, "rows": 2}], "ordered"),
        (100, [{"tile": 32, "rows": 8}], "shift"),
        (8200, [{"tile": 8192}, {"tile": 16384}], "plain"),
    ],
)
def test_no_tile_and_no_block_of_rows_changes_a_bit(columns: int, shapes: list[dict[str, int]], options: str) -> None:
    inputs = mixed(columns, 4, 5)
    first = triton(inputs, **OPTIONS[options])
    for shape in shapes:
        assert_bits_equal(triton(inputs, shape=shape, **OPTIONS[options]), first)
    assert any(not np.array_equal(first.record.words[0], first.record.words[row]) for row in range(1, 4))


def test_verification_is_the_same_in_every_tile() -> None:
    x = mixed(100, 8, 6)
    draft = np.log(np.random.default_rng(6).dirichlet(np.ones(100), 8)).astype(np.float32)
    inputs = SamplerInputs(
        x.logits, 1.0, 0.9, -1, x.seq_seed, 7, draft, np.asarray([0, 5, -1, 99, 7, 8, 9, 10]), np.arange(8) != 3
    )
    assert_bits_equal(triton(inputs, shape={"tile": 64}), triton(inputs))


def test_masked_rows_are_not_written_and_neighbours_do_not_change() -> None:
    x = np.random.default_rng(7).normal(0, 3, (7, 50)).astype(np.float32)
    clean = SamplerInputs(x, 1.0, 0.9, 20, np.arange(7), 3)
    bad = x.copy()
    bad[1, 4], bad[3, 49], bad[4] = np.nan, np.inf, -np.inf
    got = triton(SamplerInputs(bad, 1.0, 0.9, 20, np.arange(7), 3), on_error="mask")
    want = triton(clean)
    assert got.record.status.tolist() == [0, 1, 0, 2, 3, 0, 0]
    masked, others = [1, 3, 4], [0, 2, 5, 6]
    first, second = arrays_of(got), arrays_of(want)
    for name in first:
        assert np.array_equal(first[name][others], second[name][others]), name
    assert (got.tokens[masked] == -1).all()
    for array in (got.logprobs, got.record.lse, got.record.lse0, got.record.threshold):
        assert np.isnan(array[masked]).all()
    for name in ("sel", "total", "limit", "residue", "words", "word_count", "purpose", "kept", "weights"):
        assert not getattr(got.record, name)[masked].any(), name
    with pytest.raises(InputError, match="row 1: NaN"):
        sample("fused_sample", SamplerInputs(bad), backend="triton")


def test_every_weight_zero_is_a_status_and_detail_tokens_leaves_out_the_matrices() -> None:
    x = np.zeros((2, 4), np.float32)
    x[0, 1:] = -np.inf
    none = sample("fused_sample", SamplerInputs(np.zeros((0, 4), np.float32)), backend="triton")
    assert none.tokens.shape == (0,)
    got = sample("fused_sample", SamplerInputs(x), backend="triton", detail="tokens")
    assert (got.logprobs, got.record.kept, got.record.weights) == (None, None, None)
    assert got.tokens[0] == 0
    assert got.record.total.tolist() == [ONE, ONE]


def test_tensors_in_place_are_the_same_rows() -> None:
    inputs = mixed(300, 8, 8)
    want = triton(inputs)
    given = {
        "temperature": torch.from_numpy(np.asarray(inputs.temperature)),
        "top_p": torch.from_numpy(np.asarray(inputs.top_p)),
        "top_k": torch.from_numpy(np.asarray(inputs.top_k)),
        "seq_seed": torch.from_numpy(np.asarray(inputs.seq_seed).view(np.int64)),
        "position": torch.from_numpy(np.asarray(inputs.position)),
    }
    logits = torch.from_numpy(inputs.logits.copy())
    logits[5, 0] = float("nan")
    got = sample_tensors(logits, **given)
    others = np.arange(8) != 5
    assert got.status.tolist() == [0, 0, 0, 0, 0, 1, 0, 0]
    assert got.tokens[5] == -1
    assert np.array_equal(got.tokens.numpy()[others], want.tokens[others])
    assert np.array_equal(got.logprobs.numpy().view(np.uint32)[others], want.logprobs.view(np.uint32)[others])
    again = sample_tensors(logits, **given, out=got)
    assert again is got

    bad = [
        ({"top_k": given["top_k"].int()}, "top_k has dtype torch.int32: give torch.int64"),
        ({"top_p": given["top_p"][:4]}, "top_p has shape"),
        ({"temperature": 1.0}, "temperature is a float: give a torch tensor"),
        ({"position": torch.zeros((8, 2), dtype=torch.int64)[:, 0]}, "contiguous"),
        ({"draft_ids": torch.zeros(8, dtype=torch.int32)}, "draft_logprobs is a NoneType"),
        ({"min_p": 2.0}, "min_p is 2.0"),
        ({"draw": "rejection"}, "unknown draw rule"),
        ({"seq_seed": given["seq_seed"].to("meta")}, "seq_seed is on meta"),
    ]
    for change, message in bad:
        with pytest.raises(InputError, match=message) as caught:
            sample_tensors(logits, **{**given, **change})
        assert "\n" not in str(caught.value)


def test_what_cannot_run_is_one_line() -> None:
    inputs = SamplerInputs(np.zeros((1, 4), np.float32))
    plan = prepare("fused_sample", inputs)
    for options, message in (
        ({"tile": 3}, "tile is 3: give a power of two"),
        ({"rows": -1}, "rows is -1: give a power of two"),
        ({"device": "cuda"}, "device is 'cuda'"),
    ):
        with pytest.raises(InputError, match=message):
            triton_impl.sample(plan, **options)
    wide = prepare("fused_sample", SamplerInputs(np.zeros((1, 2**20 + 1), np.float32)))
    with pytest.raises(InputError, match="allows at most 1048576"):
        triton_impl.sample(wide)


def test_neither_gpu_nor_interpreter_is_one_line() -> None:
    code = (
        "import numpy as np\n"
        "from deepinfer.errors import InputError\n"
        "from deepinfer.sampling import SamplerInputs, sample\n"
        "try:\n    sample('fused_sample', SamplerInputs(np.zeros((1, 4), np.float32)), backend='triton')\n"
        "except InputError as error:\n    print(error)\n"
    )
    plain = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    plain.pop("TRITON_INTERPRET", None)
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "set TRITON_INTERPRET=1 before triton is imported, or use backend='native'" in done.stdout
    assert done.stdout.count("\n") == 1

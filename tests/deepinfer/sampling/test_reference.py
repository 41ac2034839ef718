"""The twin against exact arithmetic, against its own text, and against DeepInfer 0.1.0's recorded outputs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepinfer.sampling import SamplerInputs, sample
from deepinfer.sampling import reference as ref
from deepinfer.sampling.spec import ONE, cdf_order, lanes, rejection_limit

CONFIGS = {
    "engine": (1.0, 0.99, -1),
    "narrow": (1.0, 0.5, 128),
    "nofilter": (1.0, 1.0, -1),
    "k50p.9": (1.0, 0.9, 50),
    "k1": (1.0, 1.0, 1),
    "greedyish": (1e-5, 1.0, -1),
}
REAL_FLOOR = {"engine": 0.97, "narrow": 0.96, "nofilter": 1.0, "k50p.9": 0.91, "k1": 1.0, "greedyish": 1.0}

finite32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


def rounded(exact: Fraction) -> np.float32:
    """The float32 nearest to `exact`, ties to even, by trying the neighbours."""
    near = np.float32(float(exact))
    if not np.isfinite(near):
        return near
    candidates = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    finite = [c for c in candidates if np.isfinite(c)]
    return min(finite, key=lambda c: (abs(Fraction(float(c)) - exact), int(c.view(np.uint32)) & 1))


@given(finite32, finite32, finite32)
def test_fma32_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if abs(exact) >= Fraction(2) ** 128 or (exact != 0 and abs(exact) < Fraction(1, 2**120)):
        return
    got = ref.fma32(np.asarray([a], np.float32), np.float32(b), np.float32(c))[0]
    assert got == rounded(exact)


def test_fma32_differs_from_two_roundings() -> None:
    a, b, c = np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(-1)
    assert ref.fma32(np.asarray([a]), b, c)[0] != np.float32(np.float32(a * b) + c)


@pytest.mark.parametrize(
    ("total", "limit"),
    [
        (1, 2**32 - 1),
        (3, 2**32 - 1),
        (2**31 - 1, 2**32 - 2),
        (2**31, 2**31),
        (2**31 + 1, 2**31 + 1),
        (2**32 - 1, 2**32 - 1),
    ],
)
def test_rejection_limit_steps_at_two_to_the_31(total: int, limit: int) -> None:
    assert rejection_limit(total) == limit


def test_lanes() -> None:
    assert [lanes(v) for v in (1, 2, 3, 4096, 8191, 8192, 129280)] == [1, 2, 4, 4096, 8192, 2048, 2048]
    assert cdf_order(5).tolist() == [0, 1, 2, 3, 4]
    order = cdf_order(8192 + 3)
    assert order[:6].tolist() == [0, 2048, 4096, 6144, 8192, 1]
    assert np.array_equal(np.sort(order), np.arange(8195))


def brute_force_kept(x: np.ndarray, top_p: float, top_k: int) -> np.ndarray:
    """A.3 and A.4 by their words, with Python integers and loops."""
    soft = ref.softmax(x, np.float32(1))
    probability = ref.exp32(soft.logprob(x))
    weight = [int(np.floor(np.float64(p) * ONE)) for p in probability]
    ps = int(np.floor(np.float64(np.float32(top_p)) * ONE)) + 1 if top_p < 1 else ONE
    ks = top_k if 0 < top_k < len(x) else len(x) + 1
    mass = count = 0
    for value in sorted({float(v) for v in x}, reverse=True):
        group = [i for i, v in enumerate(x) if v == value]
        group_mass = sum(weight[i] for i in group)
        if mass + group_mass >= ps or count + len(group) >= ks:
            sel = min(ks - count, len(x))
            if top_p < 1:
                p = probability[group[0]]
                share = np.float32(np.float32(ps - mass) / np.float32(ONE)) / p if p > 0 else 0
                sel = min(sel, int(np.ceil(min(share, np.float32(len(x))))))
            kept = x > np.float32(value)
            kept[group[:sel]] = True
            return kept
        mass, count = mass + group_mass, count + len(group)
    return x > -np.inf


@given(
    st.lists(st.sampled_from([-np.inf, -3.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.0, 2.5]), min_size=1, max_size=24),
    st.sampled_from([1.0, 0.9, 0.5, 0.25, 1e-6, 2.2e-16]),
    st.sampled_from([-1, 1, 2, 3, 7, 100]),
)
def test_cut_is_the_text_of_the_specification(values: list[float], top_p: float, top_k: int) -> None:
    x = np.asarray(values, np.float32)
    if np.isneginf(x).all():
        return
    got = sample("two_level", SamplerInputs(x[None], 1.0, top_p, top_k), backend="reference")
    assert got.record.kept is not None
    expected = brute_force_kept(x, top_p, top_k) if top_p < 1 or 0 < top_k < len(x) else x > -np.inf
    assert got.record.kept[0].tolist() == expected.tolist()
    assert got.record.weights is not None
    assert got.record.weights[0, got.tokens[0]] > 0


def recorded_inputs(data: np.lib.npyio.NpzFile, logits: np.ndarray, config: str) -> SamplerInputs:
    temperature, top_p, top_k = CONFIGS[config]
    return SamplerInputs(logits, temperature, top_p, top_k, data["seeds"], data["positions"])


@pytest.mark.parametrize("config", CONFIGS)
def test_real_rows_against_the_recording(recordings: Path, config: str) -> None:
    data = np.load(recordings / "real.npz")
    got = sample("two_level", recorded_inputs(data, data["logits"], config), backend="reference", numbering="deepinfer")
    assert got.logprobs is not None
    assert got.record.kept is not None
    assert np.mean(got.tokens == data[f"{config}.tokens"]) >= REAL_FLOOR[config]
    if f"{config}.keptbits" in data:
        assert np.array_equal(np.packbits(got.record.kept, axis=1), data[f"{config}.keptbits"])
    assert np.array_equal(got.record.kept.sum(axis=1), data[f"{config}.kept"])
    recorded = data[f"{config}.logprobs8"]
    finite = np.isfinite(recorded)
    assert np.array_equal(np.isfinite(got.logprobs[:8]), finite)
    ulp = np.spacing(np.maximum(np.abs(recorded[finite]), np.float32(1)))
    assert (np.abs(got.logprobs[:8][finite] - recorded[finite]) / ulp).max() <= 2


def test_verification_against_the_recording(recordings: Path) -> None:
    data = np.load(recordings / "verify.npz")
    for config in ("engine", "narrow", "nofilter"):
        temperature, top_p, top_k = CONFIGS[config]
        inputs = SamplerInputs(
            data["logits"],
            temperature,
            top_p,
            top_k,
            data["seeds"],
            data["positions"],
            draft_logprobs=data["draft_logprobs"],
            draft_ids=data["draft_ids"],
            is_verify=data["is_verify"],
        )
        got = sample("fused_sample", inputs, backend="reference", numbering="deepinfer")
        assert got.accept is not None
        assert got.accept_prob is not None
        assert got.draft_logprob is not None
        assert np.array_equal(got.accept, data[f"{config}.accept"])
        verified = data["is_verify"]
        assert np.array_equal(got.tokens[verified], data[f"{config}.tokens"][verified])
        assert np.abs(got.accept_prob - data[f"{config}.accept_probs"]).max() <= 1e-6
        selected = data[f"{config}.draft_selected"]
        assert np.array_equal(got.draft_logprob.view(np.uint32), selected.view(np.uint32))


def test_penalty_residual_is_one_ulp_of_lse0_away(recordings: Path) -> None:
    """4093 equal columns turn one ULP of lse0 into a unit of every weight: with that ULP, all tokens are restored."""
    data = np.load(recordings / "penalty_residual.npz")
    x = np.zeros(4096, np.float32)
    x[0], x[-2:] = -np.inf, 0.005
    soft = ref.softmax(x, np.float32(1))

    def tokens(lse0: np.float32) -> list[int]:
        logprob = ref.Softmax(soft.inv, lse0, soft.lse1).logprob(x)
        result = []
        for row in range(24):
            draft = int(data["draft_ids"][row])
            if data["accept"][row]:
                result.append(draft)
                continue
            residual = np.maximum(ref.exp32(logprob) - ref.exp32(data["draft_logprobs"][row] - np.float32(5e-5)), 0)
            drawn = ref.draw(ref.weights_of(residual), row, 1, "modulo_reject")
            assert drawn is not None
            result.append(drawn.token)
        return result

    assert tokens(np.nextafter(soft.lse0, np.float32(0))) == data["tokens"].tolist()
    assert tokens(soft.lse0) != data["tokens"].tolist()


def test_zero_residual_takes_the_first_maximum() -> None:
    x = np.asarray([[0.0, 2.0, 2.0, 1.0]], np.float32)
    inputs = SamplerInputs(x, draft_logprobs=np.zeros_like(x), draft_ids=-1, is_verify=True)
    got = sample("fused_sample", inputs, backend="reference")
    assert got.accept is not None
    assert got.accept_prob is not None
    assert (got.tokens[0], bool(got.accept[0]), got.accept_prob[0]) == (1, False, 1)


def test_u_of_exactly_one_rejects_even_a_certain_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.asarray([[0.0, -np.inf]], np.float32)
    inputs = SamplerInputs(x, draft_logprobs=x, draft_ids=0, is_verify=True)
    for word, accepted in ((0xFFFFFF7F, True), (0xFFFFFF80, False), (0xFFFFFFFF, False)):
        monkeypatch.setattr(ref, "stream", lambda seed, subsequence, word=word: iter([word]))
        got = sample("fused_sample", inputs, backend="reference")
        assert got.accept is not None
        assert bool(got.accept[0]) is accepted


def test_greedy_takes_the_lowest_column_and_no_word() -> None:
    x = np.asarray([[0.0, 3.0, 3.0], [-0.0, 0.0, -1.0]], np.float32)
    for name in ("two_level", "fused_sample"):
        got = sample(name, SamplerInputs(x, temperature=0.0, seq_seed=[1, 2]), backend="reference")
        assert got.tokens.tolist() == [1, 0]
        assert got.record.word_count.tolist() == [0, 0]


def test_upstream_greedy_draws() -> None:
    x = np.zeros((64, 8), np.float32)
    inputs = SamplerInputs(x, temperature=0.0, top_k=1, seq_seed=np.arange(64))
    assert set(sample("two_level", inputs, backend="reference").tokens.tolist()) == {0}
    drawn = sample("two_level", inputs, backend="reference", numbering="deepinfer")
    assert len(set(drawn.tokens.tolist())) > 1
    assert (drawn.record.word_count >= 1).all()


def test_multiply_shift_takes_one_word_and_is_continuous_at_the_step() -> None:
    for total in (2**31 - 1, 2**31, 2**31 + 1):
        weight = np.asarray([total - 2**30, 2**30], np.uint32)
        tokens = [ref.draw(weight, seed, 0, "multiply_shift") for seed in range(200)]
        assert all(d is not None and len(d.words) == 1 for d in tokens)
        if total == 2**31 - 1:
            first = [d.token for d in tokens if d is not None]
        assert [d.token for d in tokens if d is not None] == first


def test_modulo_reject_is_not_continuous_at_the_step() -> None:
    """The control of the test above: one unit of total changes tokens."""

    def tokens(total: int) -> list[int]:
        weight = np.asarray([total - 2**30, 2**30], np.uint32)
        return [d.token for seed in range(200) if (d := ref.draw(weight, seed, 0, "modulo_reject"))]

    assert tokens(2**31 - 1) != tokens(2**31)

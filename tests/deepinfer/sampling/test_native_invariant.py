"""*Invariant*: SIMD level, threads, neighbours, detail and the caller's floating-point state change no bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from deepinfer.native import Level, supported_levels
from deepinfer.sampling import SampleResult, SamplerInputs, draw_tokens, sample
from deepinfer.sampling.fused_sample import native_impl as fused_sample
from deepinfer.sampling.params import NAN, Plan, prepare
from deepinfer.sampling.two_level import native_impl as two_level

SAMPLERS = {"two_level": two_level, "fused_sample": fused_sample}
COLUMNS = [1, 3, 15, 16, 17, 127, 1000, 4096, 4097, 8191, 8192, 8193, 20000]


def hostile(generator: np.random.Generator, columns: int, rows: int = 24) -> SamplerInputs:
    """Rows of every kind: ties, absent columns, zeros of both signs, all temperatures, all cuts."""
    logits = generator.standard_normal((rows, columns)) * generator.choice([0.1, 1, 3, 20], (rows, 1))
    logits[::3] = np.round(logits[::3])
    logits[::5] *= generator.choice([-0.0, 1.0], columns)
    logits[1::4][generator.random((len(logits[1::4]), columns)) < 0.3] = -np.inf
    logits = logits.astype(np.float32)
    logits[np.isneginf(logits).all(axis=1), 0] = 0
    temperature = generator.choice(np.asarray([0, 1e-38, 0.01, 0.7, 1, 1, 1, 1e30], np.float32), rows)
    top_p = generator.choice(np.asarray([1, 0.99, 0.9, 0.5, 2.2e-16], np.float32), rows)
    top_k = generator.choice([-1, -1, 1, 50, 1000], rows)
    return SamplerInputs(logits, temperature, top_p, top_k, np.arange(rows, dtype=np.uint64), np.arange(rows) * 7)


def verified(generator: np.random.Generator, inputs: SamplerInputs) -> SamplerInputs:
    rows, columns = inputs.logits.shape
    drafts = np.log(generator.dirichlet(np.full(columns, 0.3), rows) + 1e-30).astype(np.float32)
    ids = generator.integers(-1, columns, rows)
    return replace(inputs, draft_logprobs=drafts, draft_ids=ids, is_verify=generator.random(rows) < 0.7)


def bits(result: SampleResult) -> dict[str, bytes]:
    """Every array of a result by name."""
    arrays = {**vars(result.record), **vars(result)}
    return {name: value.tobytes() for name, value in arrays.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_levels_and_threads(generator: np.random.Generator, name: str, columns: int) -> None:
    inputs = hostile(generator, columns)
    if name == "fused_sample":
        inputs = verified(generator, inputs)
    for options in ({}, {"filter_order": "top_k_first", "min_p": 0.01, "draw": "multiply_shift"}):
        plan = prepare(name, inputs, **options)
        expected = bits(SAMPLERS[name].sample(plan, threads=1, level=Level.SCALAR))
        for level in supported_levels():
            for threads in (1, 2, 5):
                assert bits(SAMPLERS[name].sample(plan, threads=threads, level=level)) == expected


def test_another_order_of_sums_is_another_result(generator: np.random.Generator) -> None:
    """The control: the comparison above sees the last bit of one sum."""
    plan = prepare("two_level", SamplerInputs((generator.standard_normal((64, 4096)) * 5).astype(np.float32)))
    assert bits(two_level.sample(plan))["lse"] != bits(fused_sample.sample(plan))["lse"]


@pytest.mark.parametrize("name", SAMPLERS)
def test_rows_alone_and_together(generator: np.random.Generator, name: str) -> None:
    inputs = hostile(generator, 515)
    together = sample(name, inputs, backend="native")
    order = generator.permutation(len(inputs.logits))
    shuffled = bits(sample(name, inputs.rows(order), backend="native"))
    for field, value in {**vars(together.record), **vars(together)}.items():
        if isinstance(value, np.ndarray):
            assert np.ascontiguousarray(value[order]).tobytes() == shuffled[field], field


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("detail", ["full", "tokens"])
def test_a_masked_row_changes_no_other(generator: np.random.Generator, name: str, detail: str) -> None:
    inputs = hostile(generator, 300)
    clean = sample(name, inputs, backend="native", detail=detail)
    logits = inputs.logits.copy()
    logits[5, 7], logits[11, 0], logits[12] = np.nan, np.inf, -np.inf
    bad = sample(name, replace(inputs, logits=logits), backend="native", detail=detail, on_error="mask")
    assert bad.tokens[[5, 11, 12]].tolist() == [-1, -1, -1]
    assert bad.record.status[5] == NAN
    good = np.delete(np.arange(len(logits)), [5, 11, 12])
    assert np.array_equal(bad.tokens[good], clean.tokens[good])
    for field, value in vars(bad.record).items():
        if isinstance(value, np.ndarray) and field != "status":
            assert value[good].tobytes() == getattr(clean.record, field)[good].tobytes(), field


@pytest.mark.parametrize("name", SAMPLERS)
def test_detail(generator: np.random.Generator, name: str) -> None:
    inputs = hostile(generator, 4096)
    full, tokens = (bits(sample(name, inputs, backend="native", detail=d)) for d in ("full", "tokens"))
    assert set(full) - set(tokens) == {"kept", "weights", "logprobs"}
    assert all(full[field] == value for field, value in tokens.items())


def flushing(run: Callable[[], Any]) -> Any:
    """`run` with subnormals flushed to zero in this thread, as a library built with -ffast-math leaves them."""
    torch = pytest.importorskip("torch")
    assert torch.set_flush_denormal(True)
    try:
        assert float(torch.tensor(1e-39) * 2) == 0  # the control: this thread does flush
        return run()
    finally:
        torch.set_flush_denormal(False)


def test_the_callers_floating_point_state() -> None:
    """The last column kept has a subnormal probability: flushed, the tie rule would keep none of its value."""

    def row(equal: int) -> Plan:
        logits = np.full((1, equal + 2), -90, np.float32)
        logits[0, :equal] = 0
        return prepare("two_level", SamplerInputs(logits, 1.0, 1 - 2**-24, equal + 1))

    def kept(equal: int) -> int:
        mask = two_level.sample(row(equal), threads=1).record.kept
        assert mask is not None
        return int(mask.sum())

    # rounding leaves some numbers of equal columns short of top_p, so that the count decides
    plan = row(next(equal for equal in range(2, 400) if kept(equal) == equal + 1))
    expected = bits(two_level.sample(plan, threads=1))
    assert bits(flushing(lambda: two_level.sample(plan, threads=1))) == expected


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("rule", ["modulo_reject", "multiply_shift"])
def test_draw_tokens(generator: np.random.Generator, columns: int, rule: str) -> None:
    weights = generator.dirichlet(np.full(columns, 0.1), 24)
    probs = (weights * generator.choice([0.3, 1, 1.9], (24, 1))).astype(np.float32)
    seeds, positions = np.arange(24, dtype=np.uint64), np.arange(24) * 3
    expected = draw_tokens(probs, seeds, positions, 1, backend="reference", draw=rule)
    assert np.array_equal(draw_tokens(probs, seeds, positions, 1, backend="native", draw=rule), expected)
    subsequences = np.asarray(positions * 3 + 1, np.uint64)
    for level in supported_levels():
        for threads in (1, 3):
            got = two_level.draw_rows(probs, seeds, subsequences, rule, threads=threads, level=level)
            assert np.array_equal(got, expected)


def test_two_level_refuses_drafts(generator: np.random.Generator) -> None:
    inputs = verified(generator, hostile(generator, 16))
    with pytest.raises(InputError, match="fused_sample verifies"):
        sample("two_level", inputs, backend="native")


def test_wrong_threads_and_levels(generator: np.random.Generator) -> None:
    plan: Plan = prepare("fused_sample", hostile(generator, 16))
    with pytest.raises(InputError, match="threads is 0"):
        fused_sample.sample(plan, threads=0)
    with pytest.raises(InputError, match="SIMD level"):
        fused_sample.sample(plan, level="sse9")


def test_no_rows() -> None:
    for name in SAMPLERS:
        got = sample(name, SamplerInputs(np.empty((0, 7), np.float32)), backend="native")
        assert got.tokens.shape == (0,)

"""*Correct*: given the native exp, log and order of sums, the twin computes every bit of the native samplers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepinfer.sampling import SampleResult, SamplerInputs, elementary, sample
from deepinfer.sampling import reference as ref

FLOAT_MAX = float(np.finfo(np.float32).max)
ACCUMULATOR = {"two_level": np.float64, "fused_sample": np.float32}


def lane_sum(terms: np.ndarray, dtype: Any) -> np.float32:
    """The order ids fp64_lanes16 and fp32_lanes16: 16 lanes, blocks of 32 in order, a tree of blocks, 8, 4, 2, 1."""
    blocks = max(1, -(-len(terms) // 512))
    lanes = np.zeros((1 << (blocks - 1).bit_length(), 32, 16), dtype)
    lanes.reshape(-1)[: len(terms)] = terms
    total = np.zeros((len(lanes), 16), dtype)
    for step in range(32):
        total = total + lanes[:, step]
    while len(total) > 1:
        total = total[0::2] + total[1::2]
    lane = total[0]
    for half in (8, 4, 2, 1):
        lane = lane[:half] + lane[half : 2 * half]
    return np.float32(lane[0])


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> Callable[..., SampleResult]:
    """`sample(name, inputs, ...)` of the reference backend with the native arithmetic in place of its own."""

    def exp32(x: Any) -> np.ndarray:
        return elementary.exp32(x, threads=1)

    def log32(x: np.float32) -> np.float32:
        return np.float32(elementary.log32(np.asarray([x]), threads=1)[0])

    def run(name: str, inputs: SamplerInputs, **options: Any) -> SampleResult:
        dtype = ACCUMULATOR[name]

        def softmax(x: np.ndarray, inv: np.float32) -> ref.Softmax:
            top = x.max() + np.float32(0)
            with np.errstate(over="ignore"):
                total = lane_sum(exp32((x - top) * inv), dtype)
            return ref.Softmax(inv, np.float32(-log32(total)), np.float32(-top))

        def renormalised(x: np.ndarray, soft: ref.Softmax, kept: np.ndarray) -> ref.Softmax:
            mass = lane_sum(np.where(kept, exp32(soft.logprob(x)), np.float32(0)), dtype)
            return replace(soft, lse0=np.float32(soft.lse0 - log32(mass)))

        with monkeypatch.context() as patch:
            patch.setattr(ref, "exp32", exp32)
            patch.setattr(ref, "log32", log32)
            patch.setattr(ref, "softmax", softmax)
            patch.setattr(ref, "renormalised", renormalised)
            return sample(name, inputs, backend="reference", **options)

    return run


def assert_same_bits(native: Any, twin: Any) -> None:
    """Every array of two results, bit for bit."""
    for field in fields(native):
        a, b = getattr(native, field.name), getattr(twin, field.name)
        if field.name == "record":
            assert_same_bits(a, b)
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            assert a.tobytes() == b.tobytes(), f"{field.name}: {a} is not {b}"
        elif field.name not in ("backend", "order"):
            assert a == b, field.name


VALUES = np.asarray([-np.inf, -90, -30, -3, -1, -0.0, 0, 1e-40, 0.5, 1, 1, 2.5, 88, 3e38, -3e38], np.float32)
DRAFTS = np.asarray([-np.inf, -200, -20, -3, -1, -0.5, -0.0, 0, 5e-5, 1, 200, np.inf], np.float32)
OPTIONS = st.fixed_dictionaries(
    {
        "draw": st.sampled_from(["modulo_reject", "multiply_shift"]),
        "numbering": st.sampled_from(["absolute", "deepinfer"]),
        "filter_order": st.sampled_from(["joint", "top_k_first"]),
        "min_p": st.sampled_from([None, None, 1e-9, 0.05, 0.4, 1.0]),
    }
)
TEMPERATURE = np.asarray([0, 1e-45, 1e-38, 1e-6, 0.01, 0.7, 1, 1, 30, 1e30, FLOAT_MAX], np.float32)
TOP_P = np.asarray([1, 1, 1 - 2**-24, 0.99, 0.9, 0.5, 1e-6, 2.2e-16, 1e-45], np.float32)
TOP_K = np.asarray([-1, -1, 1, 2, 3, 7, 16, 1000])


@st.composite
def rows(draw: st.DrawFn, verify: bool = False) -> SamplerInputs:
    """A few rows of few columns; values and parameters are picked from the hostile ones above."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = draw(st.sampled_from([1, 2, 3, 15, 16, 17, 31, 33, 48]))
    count = draw(st.integers(1, 8))
    variety = draw(st.integers(1, len(VALUES)))  # few values: ties
    logits = generator.choice(generator.permutation(VALUES)[:variety], (count, columns))
    logits[np.isneginf(logits).all(axis=1), 0] = 0
    inputs = SamplerInputs(
        logits,
        generator.choice(TEMPERATURE, count),
        generator.choice(TOP_P, count),
        generator.choice(TOP_K, count),
        generator.integers(0, 2**64 - 1, count, np.uint64, endpoint=True),
        generator.integers(0, 2**29, count),
    )
    if not verify:
        return inputs
    return replace(
        inputs,
        draft_logprobs=generator.choice(DRAFTS, (count, columns)),
        draft_ids=generator.integers(-1, columns, count),
        is_verify=generator.random(count) < 0.7,
    )


many = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", ACCUMULATOR)
@many
@given(inputs=rows(), options=OPTIONS)
def test_hostile_rows(twin: Callable[..., SampleResult], name: str, inputs: SamplerInputs, options: Any) -> None:
    assert_same_bits(sample(name, inputs, backend="native", **options), twin(name, inputs, **options))


@many
@given(inputs=rows(verify=True), options=OPTIONS)
def test_hostile_verification(twin: Callable[..., SampleResult], inputs: SamplerInputs, options: Any) -> None:
    native = sample("fused_sample", inputs, backend="native", **options)
    assert_same_bits(native, twin("fused_sample", inputs, **options))


SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda g, v: g.standard_normal(v) * 3,
    "bf16_ties": lambda g, v: np.round(g.standard_normal(v) * 4) / 2,
    "equal": lambda g, v: np.full(v, 7.25),
    "two_values": lambda g, v: (g.random(v) < 0.01) * 4.0,
    "rising": lambda g, v: np.arange(v) / v * 20,
    "falling": lambda g, v: np.arange(v)[::-1] / v * 20,
    "powers": lambda g, v: 2.0 ** -(np.arange(v) % 149),
    "spikes": lambda g, v: np.where(np.arange(v) % 15 == 7, 0.0, -np.arange(v) / v),
    "one_survivor": lambda g, v: np.where(np.arange(v) == v - 1, 0.0, -np.inf),
    "half_absent": lambda g, v: np.where(g.random(v) < 0.5, -np.inf, g.standard_normal(v)),
}
CUTS = [(1.0, -1), (0.99, -1), (0.9, 50), (0.5, 128), (1.0, 1), (1.0, 2000), (2.2e-16, -1), (1 - 2**-24, -1)]


@pytest.mark.parametrize("name", ACCUMULATOR)
@pytest.mark.parametrize("columns", [512, 513, 4096, 4097, 8191, 8192, 8193])
def test_shapes_around_the_limits(
    twin: Callable[..., SampleResult], generator: np.random.Generator, name: str, columns: int
) -> None:
    logits = np.asarray([shape(generator, columns) for shape in SHAPES.values() for _ in CUTS], np.float32)
    cuts = CUTS * len(SHAPES)
    inputs = SamplerInputs(
        logits,
        1.0,
        np.asarray([p for p, _ in cuts], np.float32),
        [k for _, k in cuts],
        np.arange(len(cuts), dtype=np.uint64),
        np.arange(len(cuts)),
    )
    assert_same_bits(sample(name, inputs, backend="native"), twin(name, inputs))
    if columns == 4097:
        options = {"filter_order": "top_k_first", "min_p": 1e-4}
        assert_same_bits(sample(name, inputs, backend="native", **options), twin(name, inputs, **options))


def test_a_whole_vocabulary(twin: Callable[..., SampleResult], generator: np.random.Generator) -> None:
    logits = generator.standard_normal((4, 129280)).astype(np.float32)
    logits[2:] = np.round(logits[2:] * 8) / 8
    inputs = SamplerInputs(logits, [0.7, 1.0, 0.5, 1.0], [0.99, 0.9, 0.5, 1.0], [-1, 50, 700, -1], np.arange(4), 5)
    for name in ACCUMULATOR:
        assert_same_bits(sample(name, inputs, backend="native"), twin(name, inputs))


def test_the_order_of_sums_shows(twin: Callable[..., SampleResult], generator: np.random.Generator) -> None:
    """The control: with the other sampler's accumulator the same comparison fails."""
    logits = (generator.standard_normal((16, 4096)) * 5).astype(np.float32)
    inputs = SamplerInputs(logits, 1.0, 0.9, seq_seed=np.arange(16))
    single, double = (twin(name, inputs) for name in ("fused_sample", "two_level"))
    native = sample("fused_sample", inputs, backend="native")
    assert_same_bits(native, single)
    assert not np.array_equal(native.record.lse0, double.record.lse0)


def test_u_of_exactly_one_rejects_even_a_certain_draft() -> None:
    """Seeds whose acceptance word is 0xFFFFFEDA and, twice, one of the top 128, found by search."""
    logits = np.asarray([[0.0, -np.inf]] * 3, np.float32)
    seeds = np.asarray([18151775, 59639615, 75400127], np.uint64)
    inputs = SamplerInputs(logits, seq_seed=seeds, draft_logprobs=logits, draft_ids=0, is_verify=True)
    got = sample("fused_sample", inputs, backend="native")
    assert got.accept is not None
    assert got.record.accept_word is not None
    assert got.record.accept_word.tolist() == [0xFFFFFEDA, 0xFFFFFFA9, 0xFFFFFFC9]
    assert got.accept.tolist() == [True, False, False]
    assert got.tokens.tolist() == [0, 0, 0]
    assert got.record.purpose.tolist() == [0, 1, 1]

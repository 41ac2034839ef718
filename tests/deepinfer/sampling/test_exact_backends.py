"""*Correct*: every backend of `exact_sample` returns the reference's bits, on hard rows and on real ones."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepinfer.native import supported_levels
from deepinfer.sampling import SampleResult, SamplerInputs, sample
from deepinfer.sampling.exact_sample import native_impl, reference, triton_impl
from deepinfer.sampling.params import prepare

FROZEN = Path(__file__).parents[2] / "data" / "exact_real.npz"
CONFIGS = {
    "engine": (1, 0.99, -1, "joint", 0),
    "narrow": (1, 0.5, 128, "joint", 0),
    "nofilter": (1, 1, -1, "joint", 0),
    "k50p.9": (0.7, 0.9, 50, "top_k_first", 0),
    "min_p": (1.5, 1, -1, "joint", 0.01),
}
SEEDS = st.integers(0, 2**63 - 1)


def columns(most: int) -> st.SearchStrategy[int]:
    beside = {n for power in range(10) for n in (2**power - 1, 2**power, 2**power + 1)}
    return st.one_of(st.sampled_from(sorted(n for n in beside if 1 <= n <= most)), st.integers(1, most))


@settings(max_examples=30)
@given(seed=SEEDS, columns=columns(600))
def test_native(exact_rows: ModuleType, seed: int, columns: int) -> None:
    made = exact_rows.batch(seed, columns, 30)
    plan = prepare("exact_sample", made.inputs, **made.options)
    expected = reference.sample(plan)
    for level in supported_levels():
        for threads in (1, 2):
            got = native_impl.sample(plan, threads=threads, level=level)
            assert exact_rows.differing(expected, got) == {}, (level, threads)


@settings(max_examples=5)
@given(seed=SEEDS, columns=columns(300))
def test_triton_interpreter(exact_rows: ModuleType, seed: int, columns: int) -> None:
    made = exact_rows.batch(seed, columns, 410)
    plan = prepare("exact_sample", made.inputs, **made.options)
    assert exact_rows.differing(reference.sample(plan), triton_impl.sample(plan)) == {}


def digests(result: SampleResult) -> list[str]:
    arrays = (result.record.weights, result.record.kept, result.logprobs)
    return [hashlib.sha256(x.tobytes()).hexdigest() for x in arrays if x is not None]


@pytest.mark.parametrize(
    ("config", "backend"),
    [*((config, "native") for config in CONFIGS), ("engine", "reference"), ("min_p", "reference")],
)
def test_real_rows_are_frozen(recordings: Path, config: str, backend: str) -> None:
    data, frozen = np.load(recordings / "real.npz"), np.load(FROZEN)
    temperature, top_p, top_k, filter_order, min_p = CONFIGS[config]
    inputs = SamplerInputs(data["logits"], temperature, top_p, top_k, data["seeds"], data["positions"])
    got = sample("exact_sample", inputs, backend=backend, filter_order=filter_order, min_p=min_p)
    assert (got.tokens == frozen[f"{config}.tokens"]).all()
    assert (got.record.total == frozen[f"{config}.total"]).all()
    assert digests(got) == frozen[f"{config}.sha256"].tolist()


def test_triton_on_real_rows(exact_rows: ModuleType, recordings: Path) -> None:
    data = np.load(recordings / "real.npz")
    few = slice(0, 32)
    inputs = SamplerInputs(data["logits"][few], 1, 0.99, -1, data["seeds"][few], data["positions"][few])
    expected, got = (sample("exact_sample", inputs, backend=backend) for backend in ("reference", "triton"))
    assert exact_rows.differing(expected, got) == {}


def test_a_float_sampler_differs(exact_rows: ModuleType, recordings: Path) -> None:
    """The control: the comparison sees other tokens and other kept columns."""
    data = np.load(recordings / "real.npz")
    inputs = SamplerInputs(data["logits"], 1, 0.99, -1, data["seeds"], data["positions"])
    exact, other = (sample(name, inputs, backend="native") for name in ("exact_sample", "fused_sample"))
    assert {"tokens", "logprobs", "total"} <= exact_rows.differing(exact, other).keys()

"""*Invariant*: tiles, rows a program, splits and orders of columns, neighbours, detail and flags change no bit."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from deepinfer.sampling import SamplerInputs, sample
from deepinfer.sampling.exact_sample import fixed_point, native_impl, spec, triton_impl
from deepinfer.sampling.params import NAN, Plan, prepare


@pytest.fixture
def plan(generator: np.random.Generator) -> Plan:
    logits = np.round(generator.standard_normal((16, 70)) * 3, 1).astype(np.float32)  # with ties
    top_p, top_k = generator.choice([0.6, 0.9, 1], 16), generator.choice([-1, 5, 20], 16)
    return prepare("exact_sample", SamplerInputs(logits, 0.9, top_p, top_k, np.arange(16), np.arange(16) * 5))


@pytest.mark.parametrize(("rows", "tile"), [(16, 64), (8, 128)])
def test_tiles(exact_rows: ModuleType, plan: Plan, rows: int, tile: int) -> None:
    expected = triton_impl.sample(plan)
    assert exact_rows.differing(expected, triton_impl.sample(plan, rows=rows, tile=tile)) == {}
    other = prepare("exact_sample", SamplerInputs(plan.logits, 0.9, 0.7, -1, np.arange(16), np.arange(16)))
    assert exact_rows.differing(expected, native_impl.sample(other)) != {}  # the control


def splits(columns: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    for parts in (2, 3, 8, 64):
        yield np.sort(generator.choice(np.arange(1, columns), parts - 1, replace=False))


def test_splits_of_the_columns(generator: np.random.Generator) -> None:
    """Shards that know the largest logit make the weights of the whole, and their sums add up to its total."""
    x = (generator.standard_normal(5000) * 4).astype(np.float32)
    c = spec.scale(np.asarray([0.8], np.float32))[0]
    whole = fixed_point.weights(x, c)
    for cuts in splits(len(x), generator):
        parts = [fixed_point.weights(np.append(part, x.max()), c)[:-1] for part in np.split(x, cuts)]
        assert (np.concatenate(parts) == whole).all()
        assert sum(int(part.sum()) for part in parts) == int(whole.sum())


def test_float_sums_depend_on_the_split(generator: np.random.Generator) -> None:
    """The control: the same splits of the same row change a float32 sum."""
    x = (generator.standard_normal(5000) * 4).astype(np.float32)
    p = np.exp(x - x.max())
    sums = {
        np.float32(sum(part.sum(dtype=np.float32) for part in np.split(p, cuts))) for cuts in splits(5000, generator)
    }
    assert len(sums) > 1


def test_order_of_columns(generator: np.random.Generator) -> None:
    """Without ties, permuted columns keep the same ones with the same weights, log-probabilities and total."""
    logits = np.stack([generator.permutation(np.arange(3000, dtype=np.float32)) / 300 for _ in range(8)])
    order = generator.permutation(3000)
    inputs = SamplerInputs(logits, 1, 0.95, 500, 7)
    left = sample("exact_sample", inputs, backend="native", filter_order="top_k_first")
    right = sample(
        "exact_sample", SamplerInputs(logits[:, order], 1, 0.95, 500, 7), backend="native", filter_order="top_k_first"
    )
    for name in ("total", "residue", "threshold", "sel"):
        assert (getattr(left.record, name) == getattr(right.record, name)).all(), name
    assert left.record.weights is not None
    assert right.record.weights is not None
    assert left.logprobs is not None
    assert (left.record.weights[:, order] == right.record.weights).all()
    assert (left.logprobs[:, order] == right.logprobs).all()
    assert (left.tokens != order[right.tokens]).any()  # the draw does walk the columns in order


@pytest.mark.parametrize("backend", ["reference", "native", "triton"])
def test_a_bad_neighbour(exact_rows: ModuleType, plan: Plan, backend: str) -> None:
    """Rows that cannot be sampled are marked; the others are as without them."""
    logits = plan.logits[:4].copy()
    inputs = SamplerInputs(logits, 1, 0.9, 7, np.arange(4), np.arange(4))
    alone = sample("exact_sample", inputs.rows([0, 3]), backend=backend)
    logits[1, 5], logits[2] = np.nan, -np.inf
    mixed = sample("exact_sample", inputs, backend=backend, on_error="mask")
    assert mixed.tokens[1] == mixed.tokens[2] == -1
    assert mixed.record.status[1] == NAN
    for name, value in exact_rows.arrays(alone).items():
        assert (exact_rows.arrays(mixed)[name][[0, 3]] == value).all(), name


@pytest.mark.parametrize("backend", ["reference", "native", "triton"])
def test_detail(exact_rows: ModuleType, plan: Plan, backend: str) -> None:
    inputs = SamplerInputs(plan.logits, 0.5, 0.9, 7, np.arange(16), np.arange(16))
    full, short = (sample("exact_sample", inputs, backend=backend, detail=detail) for detail in ("full", "tokens"))
    assert short.logprobs is short.record.kept is short.record.weights is None
    for name, value in exact_rows.arrays(short).items():
        assert (exact_rows.arrays(full)[name] == value).all(), name


def test_draw_rule_is_not_looked_at(plan: Plan) -> None:
    inputs = SamplerInputs(plan.logits, 1, 1, -1, np.arange(16), np.arange(16))
    first, second = (
        sample("exact_sample", inputs, backend="native", draw=d) for d in ("modulo_reject", "multiply_shift")
    )
    assert (first.tokens == second.tokens).all()
    assert (first.record.residue == second.record.residue).all()

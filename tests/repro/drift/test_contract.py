"""The bound is a theorem about the arithmetic: totals of any order of summation stay inside, on any rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deepinfer.sampling import reference as twin
from deepinfer.sampling.spec import ONE
from harness.case import Outputs
from repro.drift.contract import CUDA, NATIVE32, OTHER, REFERENCE, Arithmetic, floor_error, side_error, total_bound
from repro.drift.sides import model_of
from repro.drift.state import row_size

SEQUENTIAL = replace(NATIVE32, name="one running float32 sum", lanes=1)


@pytest.fixture(scope="module", params=["steep", "flat", "hot", "few"])
def rows(request: Any, make_rows: Any) -> Any:
    random = np.random.default_rng(41)
    logits, options = {
        "steep": (random.normal(size=(40, 512)) * 4, {"top_p": 0.95}),
        "flat": (random.normal(size=(20, 4096)) / 2, {}),
        "hot": (random.normal(size=(40, 256)) * 3, {"temperature": 3.0, "top_k": 100}),
        "few": (random.integers(-1, 2, size=(40, 512)).astype(np.float32), {"top_p": 0.9, "top_k": 200}),
    }[request.param]
    return make_rows(logits, 42, **options)


def size_of(rows: Any) -> Any:
    model = model_of(rows.inputs, Outputs({}), Outputs({}, evidence=rows.result), "reference")
    assert model is not None
    return row_size(model, model.weights.sum(axis=1, dtype=np.uint64).astype(np.int64))


def running_sum(values: Any) -> np.float32:
    """float32, one addend after another, each rounded."""
    return np.float32(np.cumsum(values.astype(np.float32), dtype=np.float32)[-1])


def total_in_another_order(rows: Any, row: int, order: Any) -> int:
    """A row's total with both float sums taken one after another in `order`; everything else as the twin."""
    plan_cut = rows.inputs.keys() & {"top_p", "top_k"}
    x, kept = rows.inputs["logits"][row], rows.kept()[row]
    inverse = np.float32(1) / np.float32(rows.inputs.get("temperature", 1.0))
    terms = twin.exp32((x[order] - x.max()) * inverse)
    soft = twin.Softmax(inverse, np.float32(-twin.log32(running_sum(terms))), np.float32(-x.max()))
    if plan_cut:
        inside = order[kept[order]]
        mass = running_sum(twin.exp32(soft.logprob(x[inside])))
        soft = replace(soft, lse0=np.float32(soft.lse0 - twin.log32(mass)))
    return int(twin.weights_of(twin.exp32(soft.logprob(x[kept]))).sum(dtype=np.uint64))


def test_the_reference_lies_within_its_own_error_of_one(rows: Any) -> None:
    probability = np.where(rows.kept(), twin.exp32(rows.result.logprobs), 0).astype(np.float64) * ONE
    dropped = (probability - np.floor(probability)).sum(axis=1)
    off = np.abs(rows.result.record.total.astype(np.int64) + dropped - ONE)
    bound = side_error(REFERENCE, size_of(rows))
    assert (off <= bound).all()
    assert off.max() > 0


def test_totals_of_other_orders_lie_within_the_bound(rows: Any) -> None:
    bound = total_bound(REFERENCE, SEQUENTIAL, size_of(rows))
    random = np.random.default_rng(43)
    columns = rows.kept().shape[1]
    off = []
    for row in range(len(rows.tokens)):
        for order in (np.arange(columns), np.argsort(-rows.inputs["logits"][row]), random.permutation(columns)):
            off.append(abs(total_in_another_order(rows, row, order) - int(rows.result.record.total[row])))
    assert (np.reshape(off, (-1, 3)).max(axis=1) <= bound).all()
    assert max(off) > 0


def test_the_bound_grows_with_what_is_assumed(rows: Any) -> None:
    size = size_of(rows)
    exact, native, cuda, other = (total_bound(REFERENCE, one, size) for one in (REFERENCE, NATIVE32, CUDA, OTHER))
    assert (exact > 0).all()
    assert (exact < native).all()
    assert (exact < cuda).all()
    assert (cuda < other).all()


def test_the_depth_of_a_sum() -> None:
    depth = {
        lanes: float(Arithmetic("", 1, 0, 1, 0, 0, 0, lanes).sum_depth(np.asarray(4096.0), 4096))
        for lanes in (0, 1, 16, 128, 4096)
    }
    assert depth[0] == 1
    assert depth[1] == 4 * 4096**0.5
    assert depth[16] == 4 * 260**0.5
    assert depth[128] == 4 * 39**0.5
    assert depth[4096] == 13
    wide = CUDA.sum_depth(np.asarray(129280.0), 129280)
    assert wide == pytest.approx(4 * (505 + 8) ** 0.5)


def test_floors_of_a_few_columns_are_bounded_by_their_number() -> None:
    assert floor_error(np.asarray([0.0, 2.0, 600.0])).tolist() == [0.0, 2.0, 40.0]

"""Copies, hashes, poison and overlap, each with a control that must differ."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from deepinfer.errors import InputError
from harness import guard
from harness.case import Outputs


def test_hashes_cover_name_dtype_shape_and_bytes() -> None:
    x = np.arange(6, dtype=np.float32)
    base = guard.hash_array("x", x)
    assert guard.hash_array("x", x.copy()) == base
    others = [("y", x), ("x", x.reshape(2, 3)), ("x", x.view(np.int32)), ("x", -x), ("x", x[::-1])]
    assert len({guard.hash_array(*other) for other in others} | {base}) == len(others) + 1
    assert guard.hash_array("x", np.asarray([0.0])) != guard.hash_array("x", np.asarray([-0.0]))
    assert guard.hash_array("x", x[::2]) == guard.hash_array("x", x[::2].copy())


def test_the_hash_is_frozen() -> None:
    """Recorded hashes stay valid: xxh3-128 over length-prefixed name, dtype, shape, then the bytes."""
    assert guard.hash_array("x", np.arange(4, dtype=np.float32)) == "1cbc6bf528907fa764d12220a77506a0"


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), ("a", "b"), (None, "None"), (0.0, -0.0)])
def test_scalars_are_hashed_by_type_and_value(one: Any, other: Any) -> None:
    assert guard.hash_inputs({"s": one}) == guard.hash_inputs({"s": one})
    assert guard.hash_inputs({"s": one}) != guard.hash_inputs({"s": other})


def test_objects_cannot_be_hashed() -> None:
    with pytest.raises(InputError, match="'s' is a dict"):
        guard.hash_inputs({"s": {"a": 1}})


def test_copies_are_writable_and_apart() -> None:
    x = np.arange(4.0)
    x.flags.writeable = False
    given = {"x": x, "n": 3}
    made = guard.copies(given)
    made["x"][0] = 9
    assert (x[0], made["n"]) == (0, 3)


def test_mutation_is_named() -> None:
    given = {"a": np.zeros(3), "b": np.zeros(3)}
    hashes = guard.hash_inputs(given)
    handed = guard.copies(given)
    assert guard.mutated(handed, given, hashes) is None
    handed["b"][2] = -0.0
    assert guard.mutated(handed, given, hashes) == "b"


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "?", "c8", ml_dtypes.bfloat16])
def test_poison_changes_every_element(dtype: Any) -> None:
    array = np.zeros(5, dtype)
    before = array.tobytes()
    guard.poison(array)
    width = array.dtype.itemsize
    assert all(array.tobytes()[i : i + width] != before[i : i + width] for i in range(0, len(before), width))


def test_own_copies_and_poisons_unless_there_is_evidence() -> None:
    buffer = np.arange(3.0)
    kept = guard.own(Outputs({"out": buffer}))
    assert kept.arrays["out"].tolist() == [0, 1, 2]
    assert np.isnan(buffer).all()
    buffer = np.arange(3.0)
    kept = guard.own(Outputs({"out": buffer}, evidence=buffer))
    assert kept.evidence.tolist() == [0, 1, 2]
    assert not np.shares_memory(kept.arrays["out"], buffer)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    guard.own(Outputs({"out": frozen}))
    assert frozen.tolist() == [0, 1, 2]


def test_overlap_is_shared_memory_and_not_equal_values() -> None:
    pool = np.arange(10.0)
    first = Outputs({"a": pool[:5]})
    assert guard.overlapping(first, Outputs({"b": pool[4:]})) == "b"
    assert guard.overlapping(first, Outputs({"b": pool[5:], "a": pool[:5].copy()})) is None


def test_first_rows_cut_what_has_rows() -> None:
    given = {"x": np.zeros((6, 2)), "seed": np.arange(6), "table": np.zeros(4), "n": 6, "scalar": np.asarray(1)}
    cut = guard.first_rows(given, 2)
    assert {name: np.shape(value) for name, value in cut.items()} == {
        "x": (2, 2), "seed": (2,), "table": (4,), "n": (), "scalar": (),
    }  # fmt: skip
    assert guard.row_count({"n": 3}) is None

"""Keeps the two sides apart: copies, hashes, buffers of our own, and poison in the ones that were handed back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness.bits import float_layout
from harness.case import Inputs, Outputs

Array = NDArray[Any]
POISON_BYTE = 0x5A


def hash_array(name: str, array: Array) -> str:
    """xxh3-128 (hex) over name, dtype, shape and the bytes in C order, each part preceded by its length."""
    digest = xxhash.xxh3_128()
    shape = ",".join(str(side) for side in array.shape)
    for part in (name.encode(), array.dtype.name.encode(), shape.encode()):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return str(digest.hexdigest())


def hash_inputs(inputs: Inputs) -> dict[str, str]:
    """The hash of every input by name; a scalar counts as its numpy value. Raises InputError for other objects."""
    hashes = {}
    for name in sorted(inputs):
        value = np.asarray(inputs[name]) if inputs[name] is not None else np.asarray("none")
        if value.dtype.kind == "O":
            kind = type(inputs[name]).__name__
            raise InputError(f"input {name!r} is a {kind}: give arrays, numbers, strings or None")
        hashes[name] = hash_array(name, value)
    return hashes


def copies(inputs: Inputs) -> dict[str, Any]:
    """The same inputs in fresh, writable memory."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in inputs.items()}


def mutated(handed: Inputs, inputs: Inputs, hashes: Mapping[str, str]) -> str | None:
    """The first input that was written to, in the handed copies or in the originals; None: none was."""
    for seen in (handed, inputs):
        after = hash_inputs(seen)
        for name in sorted({*after, *hashes}):
            if after.get(name) != hashes.get(name):
                return name
    return None


def own(answered: Outputs) -> Outputs:
    """The outputs in memory that the subject does not hold, its own buffers poisoned.

    Arrays of a subject with evidence are not poisoned, as the evidence may be the same memory, nor are read-only ones.
    """
    kept = {name: np.array(array) for name, array in answered.arrays.items()}
    if answered.evidence is None:
        for array in answered.arrays.values():
            poison(array)
    return replace(answered, arrays=kept)


def poison(array: Array) -> None:
    """Overwrite `array`: NaN in floats, inverted bools, POISON_BYTE elsewhere. Read-only arrays are left alone."""
    if not array.flags.writeable:
        return
    if array.dtype.kind == "b":
        np.logical_not(array, out=array)
    elif array.dtype.kind == "c" or float_layout(array.dtype) is not None:
        array[...] = np.nan
    elif array.dtype.kind in "iu":
        array[...] = np.frombuffer(bytes([POISON_BYTE]) * array.dtype.itemsize, array.dtype)[0]


def overlapping(first: Outputs, second: Outputs) -> str | None:
    """The first output of `second` that shares memory with any output of `first`."""
    for name, array in second.arrays.items():
        if any(np.shares_memory(array, other) for other in first.arrays.values()):
            return name
    return None


def row_count(inputs: Inputs) -> int | None:
    """Rows of the inputs: the first dimension of the first array that has one."""
    for value in inputs.values():
        if isinstance(value, np.ndarray) and value.ndim:
            return len(value)
    return None


def first_rows(inputs: Inputs, rows: int) -> dict[str, Any]:
    """The inputs cut to their first rows: every array whose first dimension is the row count."""
    total = row_count(inputs)
    return {
        name: value[:rows] if isinstance(value, np.ndarray) and value.ndim and len(value) == total else value
        for name, value in inputs.items()
    }

"""Checks of a sampler's arguments: each raises InputError in one line, naming the row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError


def matrix(name: str, value: Any) -> NDArray[np.float32]:
    array = np.asarray(value)
    if array.dtype != np.float32:
        raise InputError(f"{name} have dtype {array.dtype}: give float32 (convert explicitly, rounding is a choice)")
    if array.ndim != 2 or array.shape[1] < 1:
        raise InputError(f"{name} have shape {array.shape}: give [rows, columns] with at least one column")
    return np.ascontiguousarray(array)


def column(name: str, value: Any, rows: int) -> NDArray[Any]:
    array = np.asarray(value)
    if array.ndim > 1 or (array.ndim == 1 and array.shape[0] != rows):
        raise InputError(f"{name} has shape {array.shape}: give a scalar or one value for each of the {rows} rows")
    return np.broadcast_to(array, (rows,))


def optional_integers(name: str, value: Any, rows: int) -> NDArray[np.int64] | None:
    return None if value is None else integers(name, column(name, value, rows))


def integers(name: str, value: NDArray[Any]) -> NDArray[np.int64]:
    if value.dtype.kind == "i":
        return value.astype(np.int64)
    if value.dtype.kind == "u":
        refuse(name, value, value > 2**63 - 1, "a 64-bit integer")
        return value.astype(np.int64)
    if value.dtype.kind != "O" or not all(_is_int(v) for v in value):
        raise InputError(f"{name} has dtype {value.dtype}: give integers")
    refuse(name, value, np.asarray([not -(2**63) <= int(v) < 2**63 for v in value], bool), "a 64-bit integer")
    return value.astype(np.int64)


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def refuse(name: str, value: NDArray[Any], bad: NDArray[np.bool_], allowed: str) -> None:
    where = np.flatnonzero(bad)
    if where.size:
        row = int(where[0])
        raise InputError(f"{name} of row {row} is {value[row]}: give {allowed}")


def _real(name: str, value: NDArray[Any]) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):
            return value.astype(np.float32)
    except (TypeError, ValueError):
        raise InputError(f"{name} has dtype {value.dtype}: give numbers") from None


def temperature(value: NDArray[Any]) -> NDArray[np.float32]:
    real = _real("temperature", value)
    refuse("temperature", value, ~((real >= 0) & np.isfinite(real)), "a finite number >= 0 (0 is greedy)")
    return real + np.float32(0)  # -0 is 0


def top_p(value: NDArray[Any]) -> NDArray[np.float32]:
    real = _real("top_p", value)
    refuse("top_p", value, ~((real > 0) & (real <= 1)), "a number in (0, 1] (1 is off)")
    return real


def top_k(value: NDArray[Any]) -> NDArray[np.int64]:
    whole = integers("top_k", value)
    refuse("top_k", value, (whole < 1) & (whole != -1), "-1 (off) or an integer >= 1")
    return whole


def min_p(value: float) -> np.float32:
    real = np.float32(value)
    if not 0 <= real <= 1:
        raise InputError(f"min_p is {value}: give a number in [0, 1] (0 is off)")
    return real


def seeds(value: NDArray[Any]) -> NDArray[np.uint64]:
    if value.dtype == np.uint64:
        return np.ascontiguousarray(value)
    if value.dtype.kind not in "iuO" or (value.dtype.kind == "O" and not all(_is_int(v) for v in value)):
        raise InputError(f"seq_seed has dtype {value.dtype}: give integers from 0 to 2^64 - 1")
    bad = value < 0 if value.dtype.kind in "iu" else np.asarray([not 0 <= int(v) < 2**64 for v in value], bool)
    refuse("seq_seed", value, bad, "an integer from 0 to 2^64 - 1")
    return value.astype(np.uint64)

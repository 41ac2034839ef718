"""exp and log as the native float samplers compute them (csrc/include/simd_math.h): for proofs that recompute weights.

`exp32` is within 0.9 ULP of the true value for normal results and within 1 ULP of the grid of subnormal ones; `log32`
is evaluated in float64 and rounded once. The bits are the same at every SIMD level.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.native import check_level, check_threads, load, pointer


def exp32(x: Any, *, threads: int | None = None, level: int | str | None = None) -> NDArray[np.float32]:
    """exp of each element (no NaN), float32 of the same shape."""
    return _map("elementary_exp32", x, threads, level)


def log32(x: Any, *, threads: int | None = None, level: int | str | None = None) -> NDArray[np.float32]:
    """log of each element (>= 0, finite), float32 of the same shape."""
    return _map("elementary_log32", x, threads, level)


def _map(function: str, x: Any, threads: int | None, level: int | str | None) -> NDArray[np.float32]:
    given = np.require(x, np.float32, "C")
    out = np.empty_like(given)
    code = getattr(load("elementary"), function)(
        int(check_level(level)),
        check_threads(threads),
        pointer(given, np.float32, name="x"),
        ctypes.c_int64(given.size),
        pointer(out, np.float32, write=True),
    )
    assert code == 0, code
    return out

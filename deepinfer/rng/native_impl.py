"""Philox4x32-10 in C++ (csrc/cpu/philox.cpp): every SIMD level and number of threads gives the same bits."""

from __future__ import annotations

from ctypes import c_int64

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.native import check_level, check_threads, load, pointer

U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]
U64 = NDArray[np.uint64]


def words_many(
    seeds: U64,
    subsequences: U64,
    starts: U64,
    count: int,
    *,
    level: int | str | None = None,
    threads: int | None = None,
    out: U32 | None = None,
) -> U32:
    """As deepinfer.rng.reference.words_many. `level` None is best_level(), `threads` None default_threads(); `out`
    uint32[n, count] is filled and returned where given."""
    result = np.empty((len(seeds), count), np.uint32) if out is None else out
    _fill("philox_words", seeds, subsequences, starts, count, result, np.uint32, level, threads)
    return result


def uniform_many(
    seeds: U64,
    subsequences: U64,
    starts: U64,
    count: int,
    *,
    level: int | str | None = None,
    threads: int | None = None,
    out: F32 | None = None,
) -> F32:
    """As deepinfer.rng.reference.uniform_many; options as in `words_many`."""
    result = np.empty((len(seeds), count), np.float32) if out is None else out
    _fill("philox_uniform_floats", seeds, subsequences, starts, count, result, np.float32, level, threads)
    return result


def _fill(
    function: str,
    seeds: U64,
    subsequences: U64,
    starts: U64,
    count: int,
    out: U32 | F32,
    dtype: type[np.generic],
    level: int | str | None,
    threads: int | None,
) -> None:
    if out.shape != (len(seeds), count):
        raise InputError(f"out has shape {out.shape}: give {(len(seeds), count)}")
    load("philox")[function](
        check_level(level),
        check_threads(threads),
        pointer(seeds, np.uint64, name="seeds"),
        pointer(subsequences, np.uint64, name="subsequences"),
        pointer(starts, np.uint64, name="starts"),
        c_int64(len(seeds)),
        c_int64(count),
        pointer(out, dtype, write=True, name="out"),
    )

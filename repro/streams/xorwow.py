"""XORWOW as cuRAND's device API seeds and skips it (the type `curandState`).

The state is five words of a linear recurrence over GF(2) and a counter `d`. Skipping n words multiplies the five words
by the n-th power of the recurrence's 160 x 160 matrix. Source: curand_kernel.h of cuRAND 10.4.5.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.spec import u64_array

U32 = NDArray[np.uint32]
WEYL = 362437
SUBSEQUENCE_BITS = 67
"""A subsequence is 2^67 words."""
_START = (123456789, 362436069, 521288629, 88675123, 5783321)
_MASK = np.uint64(0xFFFFFFFF)


def xorwow_words(seeds: object, subsequences: object, offsets: object, count: int) -> U32:
    """Words `offset .. offset + count - 1` of each subsequence: keys of n entries (or one) to uint32[n, count]."""
    keys = (u64_array("seeds", seeds), u64_array("subsequences", subsequences), u64_array("offsets", offsets))
    seed, subsequence, offset = np.broadcast_arrays(*keys)
    steps = [(int(s) << SUBSEQUENCE_BITS) + int(o) for s, o in zip(subsequence, offset, strict=True)]
    state, d = _init(seed)
    state = _skip(state, steps)
    d += np.asarray([WEYL * n & 0xFFFFFFFF for n in steps], np.uint32)
    out = np.empty((len(seed), count), np.uint32)
    for index in range(count):
        state = _step(state)
        d += np.uint32(WEYL)
        out[:, index] = state[:, 4] + d
    return out


def _init(seed: NDArray[np.uint64]) -> tuple[U32, U32]:
    low = (seed & _MASK).astype(np.uint32) ^ np.uint32(0xAAD26B49)
    high = (seed >> np.uint64(32)).astype(np.uint32) ^ np.uint32(0xF7DCEFDD)
    t0, t1 = low * np.uint32(1099087573), high * np.uint32(2591861531)
    v = [np.uint32(x) for x in _START]
    state = np.stack([v[0] + t0, v[1] ^ t0, v[2] + t1, v[3] ^ t1, v[4] + t0], axis=1)
    return state, np.uint32(6615241) + t1 + t0


def _step(state: U32) -> U32:
    t = state[:, 0] ^ (state[:, 0] >> np.uint32(2))
    last = state[:, 4]
    new = (last ^ (last << np.uint32(4))) ^ (t ^ (t << np.uint32(1)))
    return np.concatenate([state[:, 1:], new[:, None]], axis=1)


def _skip(state: U32, steps: list[int]) -> U32:
    """Each row `steps` words on."""
    bits = _bits(state)
    for power in range(max(steps).bit_length()):
        rows = [row for row, n in enumerate(steps) if n >> power & 1]
        if rows:
            bits[rows] = _odd(bits[rows] @ _matrix(power))
    return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little").view("<u4").astype(np.uint32)


def _bits(state: U32) -> NDArray[np.float32]:
    return np.unpackbits(state.astype("<u4").view(np.uint8), axis=1, bitorder="little").astype(np.float32)


def _odd(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    return (sums.astype(np.int32) & 1).astype(np.float32)


@functools.cache
def _matrix(power: int) -> NDArray[np.float32]:
    """The step to the power 2^power over GF(2), one row an input bit; sums of at most 160 ones are exact in float32."""
    if power:
        half = _matrix(power - 1)
        return _odd(half @ half)
    unit = np.packbits(np.eye(160, dtype=np.uint8), axis=1, bitorder="little").view("<u4").astype(np.uint32)
    return _bits(_step(unit))

"""Philox4x64-10 (Salmon et al. 2011): NumPy's Philox, and Triton's for 64-bit counters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
MULTIPLIER = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
ROUNDS = 10
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def philox4x64(counter: U64, key: U64) -> U64:
    """The block function: counter uint64[..., 4] and key uint64[..., 2] (broadcast) to uint64[..., 4]."""
    c0, c1, c2, c3 = (counter[..., i] for i in range(4))
    k0, k1 = key[..., 0], key[..., 1]
    for index in range(ROUNDS):
        if index:
            k0, k1 = k0 + np.uint64(WEYL[0]), k1 + np.uint64(WEYL[1])
        high0, low0 = _wide(c0, MULTIPLIER[0])
        high1, low1 = _wide(c2, MULTIPLIER[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3), axis=-1)


def _wide(a: U64, multiplier: int) -> tuple[U64, U64]:
    """The high and the low half of a 128-bit product."""
    b0, b1 = np.uint64(multiplier & 0xFFFFFFFF), np.uint64(multiplier >> 32)
    a0, a1 = a & _LOW, a >> _HALF
    middle = a1 * b0 + ((a0 * b0) >> _HALF)
    cross = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _HALF) + (cross >> _HALF), a * np.uint64(multiplier)

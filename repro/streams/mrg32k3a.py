"""MRG32k3a (L'Ecuyer 1999) as cuRAND seeds, skips and scales it.

Two linear recurrences of order three modulo two primes. Source: curand_kernel.h of cuRAND 10.4.5.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.spec import u64_array

U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
M1, M2 = 4294967087, 4294944443
MODULI = (np.uint64(M1), np.uint64(M2))
START = np.uint64(12345)
A12, A13N, A21, A23N = 1403580, 810728, 527612, 1370589
NORM = 2.3283065498378288e-10
BITS_NORM = 1.000000048662
SUBSEQUENCE_BITS = 76
"""A subsequence is 2^76 values."""
Matrix = tuple[tuple[int, ...], ...]
_STEP1: Matrix = ((0, 1, 0), (0, 0, 1), (-A13N, A12, 0))
_STEP2: Matrix = ((0, 1, 0), (0, 0, 1), (-A23N, 0, A21))


def mrg32k3a_values(seeds: object, subsequences: object, offsets: object, count: int) -> I64:
    """The generator's integers in [1, M1]: keys of n entries (or one) to int64[n, count]."""
    keys = (u64_array("seeds", seeds), u64_array("subsequences", subsequences), u64_array("offsets", offsets))
    seed, subsequence, offset = np.broadcast_arrays(*keys)
    steps = [(int(s) << SUBSEQUENCE_BITS) + int(o) for s, o in zip(subsequence, offset, strict=True)]
    first, second = (_skip(state, steps, which).astype(np.int64) for which, state in enumerate(_init(seed)))
    out = np.empty((len(seed), count), np.int64)
    for index in range(count):
        p1 = (A12 * first[:, 1] - A13N * first[:, 0]) % M1
        p2 = (A21 * second[:, 2] - A23N * second[:, 0]) % M2
        first = np.concatenate([first[:, 1:], p1[:, None]], axis=1)
        second = np.concatenate([second[:, 1:], p2[:, None]], axis=1)
        out[:, index] = np.where(p1 <= p2, p1 - p2 + M1, p1 - p2)
    return out


def words_from_values(values: I64) -> U32:
    """What `curand()` returns: the integer stretched to 32 bits."""
    return (values.astype(np.float64) * BITS_NORM).astype(np.uint32)


def uniform_double_from_values(values: I64) -> NDArray[np.float64]:
    """In (0, 1), one value each; the float call rounds this once more."""
    return values.astype(np.float64) * NORM


def _init(seed: U64) -> tuple[U64, U64]:
    """The two recurrences' states, uint64[n, 3] each."""
    x1 = (seed & np.uint64(0xFFFFFFFF)) ^ np.uint64(0x55555555)
    x2 = (seed >> np.uint64(32)) ^ np.uint64(0xAAAAAAAA)
    start = np.where((seed == 0)[:, None], np.uint64(1), np.stack([x1, x2, x1], axis=1))
    other = np.where((seed == 0)[:, None], np.uint64(1), np.stack([x2, x1, x2], axis=1))
    return start * START % MODULI[0], other * START % MODULI[1]


def _skip(state: U64, steps: list[int], which: int) -> U64:
    """Each row `steps` values on; every product is below 2^64."""
    for power in range(max(steps, default=0).bit_length()):
        rows = [row for row, n in enumerate(steps) if n >> power & 1]
        if rows:
            products = state[rows][:, None, :] * np.asarray(_power(which, power), np.uint64) % MODULI[which]
            state[rows] = products.sum(axis=2, dtype=np.uint64) % MODULI[which]
    return state


@functools.cache
def _power(which: int, power: int) -> Matrix:
    """The step of recurrence `which` to the power 2^power."""
    modulus = int(MODULI[which])
    if not power:
        return tuple(tuple(x % modulus for x in row) for row in (_STEP1, _STEP2)[which])
    half = _power(which, power - 1)
    columns = list(zip(*half, strict=True))
    return tuple(tuple(sum(a * b for a, b in zip(r, c, strict=True)) % modulus for c in columns) for r in half)

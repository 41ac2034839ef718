"""MurmurHash3 x86_32 of (seed, position, token): the noise of vLLM's V2 sampler and of SGLang's seeded one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

U32 = NDArray[np.uint32]
_C1, _C2, _N = np.uint32(0xCC9E2D51), np.uint32(0x1B873593), np.uint32(0xE6546B64)
_LENGTH = np.uint32(16)


def token_hashes(seeds: ArrayLike, positions: ArrayLike, tokens: ArrayLike, initial: int = 0) -> U32:
    """uint32[rows, tokens]. Seeds are 64-bit integers (negative ones by two's complement), of positions the lower 32
    bits count; both have one entry a row."""
    seed = _two_complement(seeds)[:, None]
    place = _two_complement(positions)[:, None]
    hashed = np.full(seed.shape, initial, np.uint32)
    for key in (_low(seed), _low(seed >> np.uint64(32)), _low(place), np.asarray(tokens).astype(np.uint32)[None, :]):
        hashed = _mix(hashed, key)
    return _finish(hashed ^ _LENGTH)


def _two_complement(values: ArrayLike) -> NDArray[np.uint64]:
    return np.asarray([int(x) & (2**64 - 1) for x in np.atleast_1d(np.asarray(values)).tolist()], np.uint64)


def _low(x: NDArray[np.uint64]) -> U32:
    return (x & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _rotate(x: U32, by: int) -> U32:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def _mix(hashed: U32, key: U32) -> U32:
    return _rotate(hashed ^ (_rotate(key * _C1, 15) * _C2), 13) * np.uint32(5) + _N


def _finish(h: U32) -> U32:
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))

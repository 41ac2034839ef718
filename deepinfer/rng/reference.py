"""Philox4x32-10 in numpy: the specification in code. No fast side is imported."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.spec import MULTIPLIER, ROUNDS, U64, WEYL

U32 = NDArray[np.uint32]
MASK32 = np.uint64(0xFFFFFFFF)
SHIFT32 = np.uint64(32)


def philox4x32(counter: U32, key: U32, rounds: int = ROUNDS) -> U32:
    """The block function: counter uint32[..., 4] and key uint32[..., 2] (broadcast) to uint32[..., 4]."""
    c0, c1, c2, c3 = (counter[..., i].astype(np.uint64) for i in range(4))
    k0, k1 = (key[..., i].astype(np.uint64) for i in range(2))
    for index in range(rounds):
        if index:
            k0 = (k0 + np.uint64(WEYL[0])) & MASK32
            k1 = (k1 + np.uint64(WEYL[1])) & MASK32
        p0 = c0 * np.uint64(MULTIPLIER[0])
        p1 = c2 * np.uint64(MULTIPLIER[1])
        c0, c1, c2, c3 = (p1 >> SHIFT32) ^ c1 ^ k0, p1 & MASK32, (p0 >> SHIFT32) ^ c3 ^ k1, p0 & MASK32
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3), axis=-1).astype(np.uint32)


def words_many(seeds: U64, subsequences: U64, starts: U64, count: int) -> U32:
    """Words `start .. start + count - 1` of each stream: three uint64[n] to uint32[n, count]."""
    blocks = (count + 6) // 4
    first = starts >> np.uint64(2)
    index = first[:, None] + np.arange(blocks, dtype=np.uint64)
    sub = np.broadcast_to(subsequences[:, None], index.shape)
    counter = np.stack([index & MASK32, index >> SHIFT32, sub & MASK32, sub >> SHIFT32], axis=-1).astype(np.uint32)
    key = np.stack([seeds & MASK32, seeds >> SHIFT32], axis=-1).astype(np.uint32)
    flat = philox4x32(counter, key[:, None, :]).reshape(len(seeds), 4 * blocks)
    lane = (starts & np.uint64(3)).astype(np.int64)[:, None] + np.arange(count)
    return np.take_along_axis(flat, lane, axis=1)


def uniform_from_words(words: U32) -> NDArray[np.float32]:
    """cuRAND's float map, `fp32(w) * 2^-32 + 2^-33`: in (0, 1], exactly 1.0 for the top 128 words."""
    return words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)


def uniform_many(seeds: U64, subsequences: U64, starts: U64, count: int) -> NDArray[np.float32]:
    """`uniform_from_words` of `words_many`: float32[n, count]."""
    return uniform_from_words(words_many(seeds, subsequences, starts, count))

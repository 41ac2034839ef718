"""Triton's tl.rand, tl.randint, tl.randn and tl.randint4x for offsets offset .. offset + count - 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import philox4x32
from repro.streams.base import Stream

F32 = NDArray[np.float32]
SCALE = np.float32(4.6566127342e-10)


@dataclass(frozen=True)
class Triton(Stream):
    """One block an offset: an offset's four words are words 4 offset .. 4 offset + 3 of (seed, subsequence 0).

    `offset_bits` is 32 or 64, the type that the kernel hands over: 32-bit offsets wrap.
    """

    seed: int
    offset: int
    offset_bits: int

    def blocks(self, count: int) -> NDArray[np.uint32]:
        """tl.randint4x as unsigned words, uint32[count, 4]; consecutive offsets."""
        wrap = 2**self.offset_bits
        offsets = [(self.offset + index) % wrap for index in range(count)]
        counters = np.asarray([[x & 0xFFFFFFFF, x >> 32, 0, 0] for x in offsets], np.uint32).reshape(-1, 4)
        return philox4x32(counters, np.asarray([self.seed & 0xFFFFFFFF, self.seed >> 32], np.uint32))

    def words(self, count: int) -> NDArray[np.uint32]:
        """tl.randint as unsigned words, uint32[count]: word 0, the other three are dropped."""
        return self.blocks(count)[:, 0]

    def uniforms(self, count: int) -> F32:
        """tl.rand, float32[count] in [0, 1)."""
        return uniform(self.words(count))

    def normals(self, count: int) -> F32:
        """tl.randn, float32[count], within 2^-19: Box-Muller on words 0 and 1, cosine."""
        u1, u2 = uniform(self.blocks(count)[:, 0]), uniform(self.blocks(count)[:, 1])
        radius = np.sqrt(-2 * np.log(np.maximum(u1, np.float32(1.0e-7)).astype(np.float64)))
        angle = np.float32(6.283185307179586) * u2
        normal: F32 = (radius * np.cos(angle.astype(np.float64))).astype(np.float32)
        return normal


def uniform(words: NDArray[np.uint32]) -> F32:
    """tl.rand's map: as int32; complement the negative ones; scale. A word and its complement give the same float."""
    signed = words.view(np.int32)
    return np.where(signed < 0, ~signed, signed).astype(np.float32) * SCALE

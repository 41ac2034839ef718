"""Philox4x32-10 as four other libraries number it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng import words_many
from deepinfer.rng.reference import philox4x32
from repro.streams.base import Stream

U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]


@dataclass(frozen=True)
class RocrandDevice(Stream):
    """rocRAND's device API: cuRAND's words, another float map."""

    seed: int
    subsequence: int
    offset: int

    def words(self, count: int) -> U32:
        """uint32[count]."""
        return words_many([self.seed], [self.subsequence], [self.offset], count).reshape(-1)

    def uniforms(self, count: int) -> F32:
        """w 2^-32 + 2^-32, float32[count] in (0, 1]."""
        return self.words(count).astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-32)


@dataclass(frozen=True)
class RocrandHost(Stream):
    """rocRAND's host API: output n is word n of subsequence 0 (aligned output pointers)."""

    seed: int
    offset: int

    def words(self, count: int) -> U32:
        """uint32[count]."""
        return words_many([self.seed], [0], [self.offset], count).reshape(-1)

    def uniforms(self, count: int) -> F32:
        """w 2^-32 + 2^-32, float32[count] in (0, 1]."""
        return RocrandDevice(self.seed, 0, self.offset).uniforms(count)


@dataclass(frozen=True)
class Tensorflow(Stream):
    """TensorFlow's PhiloxRandom: `seed` is the key, `seed2` the upper half of the counter, `skip` counts blocks."""

    seed: int
    seed2: int
    skip: int

    def words(self, count: int) -> U32:
        """uint32[count]: groups of four in order, whatever the launch."""
        return words_many([self.seed], [self.seed2], [4 * self.skip], count).reshape(-1)

    def uniforms(self, count: int) -> F32:
        """The lower 23 bits as a fraction, float32[count] in [0, 1)."""
        filled = (self.words(count) & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)
        return filled.view(np.float32) - np.float32(1)


@dataclass(frozen=True)
class TorchStateless(Stream):
    """torch.func._random: block i of an array is counter offset + i, subsequence 0; the offset counts blocks."""

    seed: int
    offset: int

    def words(self, count: int) -> U32:
        """uint32[count]."""
        return words_many([self.seed], [0], [4 * self.offset], count).reshape(-1)

    def uniforms(self, count: int) -> F32:
        """The lower 24 bits, float32[count] in [0, 1)."""
        return (self.words(count) & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0**-24)


@dataclass(frozen=True)
class CppPhilox(Stream):
    """std::philox4x32 of C++26: the seed is the key's first word, blocks from counter 0 in order."""

    seed: int

    def words(self, count: int) -> U32:
        """uint32[count]."""
        counters = np.zeros((-(-count // 4), 4), np.uint32)
        counters[:, 0] = np.arange(len(counters))
        return philox4x32(counters, np.asarray([self.seed, 0], np.uint32)).ravel()[:count]

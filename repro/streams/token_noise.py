"""Streams that a sampler makes of (seed, position, token): element t of a call belongs to token t."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import philox4x32
from repro.streams.base import Stream
from repro.streams.murmur3 import token_hashes
from repro.streams.triton import uniform as triton_uniform

U32 = NDArray[np.uint32]
F64 = NDArray[np.float64]
ROLES = ("target", "draft")
DRAFT_SALT = 1 << 30
"""What vLLM adds to a draft token's position."""
SECOND_WORD = 0x9E3779B9
"""The hash's initial value for the second, upper word of vLLM's 64-bit noise."""
SGLANG_DRAFT = 0x44524146545F0000
"""What SGLang adds to the seed for draft coins."""


@dataclass(frozen=True)
class VllmV2Noise(Stream):
    """vLLM's V2 sampler since its noise is a hash. `seed` is any 64-bit integer, `role` target or draft."""

    seed: int
    position: int
    role: str

    def words(self, count: int) -> U32:
        """uint32[count]."""
        return vllm_hashes([self.seed], [self.position], count, self.role).reshape(-1)

    def uniforms(self, count: int) -> NDArray[np.float32]:
        """float32[count]: (word + 1/2) 2^-32, in (0, 1]."""
        return vllm_uniform(self.words(count))

    def uniform_doubles(self, count: int) -> F64:
        """The uniforms of use_fp64, float64[count] in (0, 1)."""
        second = vllm_hashes([self.seed], [self.position], count, self.role, SECOND_WORD)[0]
        return vllm_uniform_double(self.words(count), second)


def vllm_hashes(seeds: object, positions: object, count: int, role: str, initial: int = 0) -> U32:
    """uint32[rows, count]."""
    places = [int(p) + (DRAFT_SALT if role == "draft" else 0) for p in np.atleast_1d(np.asarray(positions)).tolist()]
    return token_hashes(np.asarray(seeds), places, np.arange(count), initial)


def vllm_uniform(words: U32) -> NDArray[np.float32]:
    """Two exact halves and one rounding: fp32((w + 1/2) 2^-32); 1.0 for the largest words."""
    high = (words >> np.uint32(16)).astype(np.float32) * np.float32(2.0**-16)
    low = (words & np.uint32(0xFFFF)).astype(np.float32) + np.float32(0.5)
    return high + low * np.float32(2.0**-32)


def vllm_uniform_double(words: U32, second: U32) -> F64:
    """53 bits, the second hash on top."""
    bits = ((second.astype(np.uint64) << np.uint64(32)) | words) >> np.uint64(11)
    real = (bits.astype(np.float64) + 0.5) * 2.0**-53
    return np.where(real == 1, real - 2.0**-53, real)


@dataclass(frozen=True)
class VllmV2PhiloxNoise(Stream):
    """vLLM's V2 sampler before its noise was a hash: word 0 of the position's block keys the tokens' blocks."""

    seed: int
    position: int

    def words(self, count: int) -> U32:
        """uint32[count]."""
        return self._blocks(count)[:, 0]

    def uniforms(self, count: int) -> NDArray[np.float32]:
        """float32[count] as tl.rand."""
        return triton_uniform(self.words(count))

    def uniform_doubles(self, count: int) -> F64:
        """float64[count]: words 0 (low) and 1 times 2^-64."""
        blocks = self._blocks(count).astype(np.uint64)
        return ((blocks[:, 1] << np.uint64(32)) | blocks[:, 0]).astype(np.float64) * 2.0**-64

    def _blocks(self, count: int) -> U32:
        place = np.asarray([self.position & 0xFFFFFFFF, self.position >> 32, 0, 0], np.uint32)
        key = philox4x32(place, np.asarray([self.seed & 0xFFFFFFFF, self.seed >> 32], np.uint32))[0]
        counters = np.zeros((count, 4), np.uint32)
        counters[:, 0] = np.arange(count)
        return philox4x32(counters, np.asarray([key, 0], np.uint32))


@dataclass(frozen=True)
class SglangNoise(Stream):
    """SGLang's seeded sampler. `token` counts token ids, or ranks of the sorted row once a batch filters."""

    seed: int
    position: int

    def words(self, count: int) -> U32:
        """uint32[count]."""
        return token_hashes([self.seed], [self.position], np.arange(count)).reshape(-1)

    def uniforms(self, count: int) -> F64:
        """float64[count] in [0, 1], both ends included."""
        return sglang_uniform(self.words(count))


def sglang_uniform(words: U32) -> F64:
    """w / (2^32 - 1)."""
    return words.astype(np.float64) / (2**32 - 1)

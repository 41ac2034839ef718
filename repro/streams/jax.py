"""JAX: bits, uniforms, normals, integers and Gumbel noise of jax.random.key(seed, impl=...)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfinv

from deepinfer.errors import unknown_name
from repro.streams import jax_keys
from repro.streams.base import Stream

F32 = NDArray[np.float32]
TINY = np.float32(np.finfo(np.float32).tiny)
MODES = ("low", "high")


@dataclass(frozen=True)
class Jax(Stream):
    """`partitionable` is jax_threefry_partitionable (True since 0.5), `x64` is jax_enable_x64."""

    impl: str
    seed: int
    partitionable: bool
    x64: bool

    @property
    def key(self) -> jax_keys.Key:
        return jax_keys.key_of_seed(self.impl, self.seed, self.x64)

    def words(self, count: int) -> NDArray[Any]:
        """jax.random.bits, uint32[count]."""
        return self.bits(count, 32)

    def bits(self, count: int, width: int) -> NDArray[Any]:
        """jax.random.bits of 8, 16, 32 or 64 bits."""
        return jax_keys.bits(self.impl, self.key, count, width, self.partitionable)

    def uniforms(self, count: int) -> F32:
        """jax.random.uniform, float32[count]: 23 bits, in [0, 1)."""
        return mantissa(self.words(count))

    def uniform_doubles(self, count: int) -> NDArray[np.float64]:
        """The same of 64-bit types, float64[count]: 52 bits."""
        top = self.bits(count, 64) >> np.uint64(12)
        return (top | np.float64(1).view(np.uint64)).view(np.float64) - 1.0

    def normals(self, count: int) -> F32:
        """jax.random.normal, float32[count], within 2^-20 of XLA's polynomial: sqrt 2 * erfinv of (-1, 1)."""
        low = np.nextafter(np.float32(-1), np.float32(0))
        u = np.maximum(low, self.uniforms(count) * (np.float32(1) - low) + low)
        normal: F32 = np.float32(np.sqrt(2)) * erfinv(u.astype(np.float64)).astype(np.float32)
        return normal

    def randint(self, count: int, low: int, high: int) -> NDArray[np.int64]:
        """jax.random.randint of int32: two draws an element, from the two halves of a split key."""
        first, second = jax_keys.split(self.impl, self.key, 2, self.partitionable)
        span = high - low
        upper = jax_keys.bits(self.impl, first, count, 32, self.partitionable).astype(np.uint64) % span
        lower = jax_keys.bits(self.impl, second, count, 32, self.partitionable).astype(np.uint64) % span
        factor = np.uint64(pow(2**16 % span, 2, 2**32) % span)
        mixed = (((upper * factor) & np.uint64(0xFFFFFFFF)) + lower) & np.uint64(0xFFFFFFFF)
        return (mixed % np.uint64(span)).astype(np.int64) + low

    def gumbel_inputs(self, count: int, mode: str) -> F32:
        """The uniform that jax.random.gumbel takes logarithms of, float32[count]; see `gumbel`."""
        if mode == "low":
            open_at_0: F32 = np.maximum(TINY, self.uniforms(count) * (np.float32(1) - TINY) + TINY)
            return open_at_0
        if mode != "high":
            raise unknown_name("mode of jax.random.gumbel", mode, MODES)
        high, low = self.uniforms(2 * count).reshape(2, count)
        return np.where(high >= np.float32(0.5), high, high + np.float32(2.0**-23) * low + TINY)

    def gumbel(self, count: int, mode: str) -> NDArray[np.float64]:
        """jax.random.gumbel before rounding, float64[count]: -ln(-ln u), in mode `high` -ln(-log1p(-u))."""
        u = self.gumbel_inputs(count, mode).astype(np.float64)
        with np.errstate(divide="ignore"):
            inner: NDArray[np.float64] = -np.log(u) if mode == "low" else -np.log1p(-u)
            return -np.log(inner)


def mantissa(words: NDArray[Any]) -> F32:
    """The upper 23 bits of a 32-bit word as the fraction of a number in [1, 2), minus 1."""
    one = (words.astype(np.uint32) >> np.uint32(9)) | np.uint32(0x3F800000)
    return one.view(np.float32) - np.float32(1)

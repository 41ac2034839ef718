"""NumPy's bit generators, by calling the installed NumPy: raw words never change between versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.streams.base import Stream

CLASSES = {"philox": "Philox", "pcg64": "PCG64", "mt19937": "MT19937", "sfc64": "SFC64"}


@dataclass(frozen=True)
class NumpyBits(Stream):
    """numpy.random.Generator(BitGenerator(seed)): the seed goes through SeedSequence."""

    bit_generator: str
    seed: int

    def generator(self) -> np.random.Generator:
        """A fresh generator."""
        return np.random.Generator(getattr(np.random, CLASSES[self.bit_generator])(self.seed))

    def words(self, count: int) -> NDArray[np.uint64]:
        """random_raw, uint64[count] (MT19937: 32 bits each)."""
        return np.asarray(self.generator().bit_generator.random_raw(count), np.uint64)

    def uniforms(self, count: int, dtype: str = "float64") -> NDArray[Any]:
        """Generator.random: 53 bits in [0, 1), or 24 bits for float32."""
        return self.generator().random(count, dtype=np.dtype(dtype))

    def normals(self, count: int) -> NDArray[np.float64]:
        """Generator.standard_normal (ziggurat)."""
        return self.generator().standard_normal(count)

    def exponentials(self, count: int) -> NDArray[np.float64]:
        """Generator.standard_exponential (ziggurat)."""
        return self.generator().standard_exponential(count)

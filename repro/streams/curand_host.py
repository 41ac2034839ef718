"""cuRAND's host API (curandGenerate ...) in orderings DEFAULT, BEST and LEGACY: subsequences take turns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.rng import maps
from deepinfer.rng.curand_host import curand_host_values
from deepinfer.rng.reference import uniform_from_words
from repro.streams import mrg32k3a
from repro.streams.base import Stream
from repro.streams.curand_library import library_words
from repro.streams.xorwow import xorwow_words

LANES = {"xorwow": 4096, "mrg32k3a": 81920}
"""How many subsequences take turns, one output each. Philox: 65536, four outputs each."""
GENERATORS = ("philox4x32", "xorwow", "mrg32k3a", "mtgp32", "mt19937")
FROM_LIBRARY = ("mtgp32", "mt19937")
"""Generators whose words are asked of libcurand's own host generator; they know no offset."""


@dataclass(frozen=True)
class CurandHost(Stream):
    """Outputs offset .. offset + count - 1; an offset counts outputs whatever their type."""

    generator: str
    seed: int
    offset: int

    def __post_init__(self) -> None:
        if self.generator in FROM_LIBRARY and self.offset:
            raise InputError(f"offset is {self.offset}: cuRAND refuses offsets for {self.generator}, give 0")

    def words(self, count: int) -> NDArray[np.uint32]:
        """uint32[count], as curandGenerate."""
        if self.generator == "philox4x32":
            words: NDArray[np.uint32] = curand_host_values(self.seed, self.offset, count, "u32")
            return words
        if self.generator in FROM_LIBRARY:
            return library_words(self.generator, self.seed, count)
        if self.generator == "xorwow":
            return self._turns(count)
        return mrg32k3a.words_from_values(self._values(count))

    def uniforms(self, count: int) -> NDArray[np.float32]:
        """float32[count] in (0, 1], as curandGenerateUniform."""
        if self.generator == "mrg32k3a":
            return mrg32k3a.uniform_double_from_values(self._values(count)).astype(np.float32)
        if self.generator == "mt19937":
            raise InputError("uniforms of mt19937: its float map on the host was not read; known are its words")
        return uniform_from_words(self.words(count))

    def uniform_doubles(self, count: int) -> NDArray[np.float64]:
        """float64[count], as curandGenerateUniformDouble: 32 bits of MRG32k3a and MTGP32, else 53. XORWOW from offset 0
        only."""
        if self.generator == "mrg32k3a":
            return mrg32k3a.uniform_double_from_values(self._values(count))
        if self.generator == "philox4x32":
            values: NDArray[np.float64] = curand_host_values(self.seed, self.offset, count, "uniform2_double")
            return values
        if self.generator == "mtgp32":
            return maps.uniform_double_from_words(self.words(count))
        if self.generator != "xorwow" or self.offset:
            raise InputError(f"doubles of {self.generator} at offset {self.offset}: known are xorwow from offset 0")
        lanes = LANES["xorwow"]
        turns = -(-count // lanes)
        words = xorwow_words([self.seed], np.arange(min(lanes, count), dtype=np.uint64), [0], 2 * turns)
        return maps.uniform2_double_from_words(words).T.reshape(-1)[:count]

    def normals(self, count: int) -> NDArray[np.float32]:
        """float32[count], as curandGenerateNormal with mean 0 and deviation 1. Philox only."""
        if self.generator != "philox4x32":
            raise InputError(f"normals of {self.generator}: its pairing on the host was not read; known is philox4x32")
        values: NDArray[np.float32] = curand_host_values(self.seed, self.offset, count, "normal")
        return values

    def _places(self, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        output = np.uint64(self.offset) + np.arange(count, dtype=np.uint64)
        lanes = np.uint64(LANES[self.generator])
        return output % lanes, output // lanes

    def _turns(self, count: int) -> NDArray[np.uint32]:
        lane, turn = self._places(count)
        first, lanes = self.offset // LANES["xorwow"], np.unique(lane)
        words = xorwow_words([self.seed], lanes, [first], int(turn[-1]) - first + 1 if count else 0)
        return words[np.searchsorted(lanes, lane), (turn - np.uint64(first)).astype(np.int64)]

    def _values(self, count: int) -> NDArray[np.int64]:
        lane, turn = self._places(count)
        return mrg32k3a.mrg32k3a_values([self.seed], lane, turn, 1)[:, 0]

"""cuRAND's device API after curand_init(seed, subsequence, offset), for its three counter- or skip-based generators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng import maps, words_many
from deepinfer.rng.reference import uniform_from_words
from repro.streams import mrg32k3a
from repro.streams.base import Stream
from repro.streams.xorwow import xorwow_words

U32 = NDArray[np.uint32]
GENERATORS = ("philox4x32", "xorwow", "mrg32k3a")


@dataclass(frozen=True)
class CurandDevice(Stream):
    """`words`, `uniforms`, `uniform_doubles`, `normals`: consecutive calls of curand, curand_uniform,
    curand_uniform_double and curand_normal on a fresh state. `curand_state` (curandState_t) is XORWOW.

    Normals take log, sine and cosine in float64 and round once; a GPU uses hardware approximations there.
    """

    generator: str
    seed: int
    subsequence: int
    offset: int

    def words(self, count: int) -> U32:
        """uint32[count]."""
        if self.generator == "mrg32k3a":
            return mrg32k3a.words_from_values(self._values(count))
        make = words_many if self.generator == "philox4x32" else xorwow_words
        return make([self.seed], [self.subsequence], [self.offset], count).reshape(-1)

    def uniforms(self, count: int) -> NDArray[np.float32]:
        """float32[count] in (0, 1], one word each."""
        if self.generator == "mrg32k3a":
            return mrg32k3a.uniform_double_from_values(self._values(count)).astype(np.float32)
        return uniform_from_words(self.words(count))

    def uniform_doubles(self, count: int) -> NDArray[np.float64]:
        """float64[count]: one word each of Philox and MRG32k3a (32 bits), two of XORWOW (53 bits)."""
        if self.generator == "mrg32k3a":
            return mrg32k3a.uniform_double_from_values(self._values(count))
        if self.generator == "xorwow":
            return maps.uniform2_double_from_words(self.words(2 * count))
        return maps.uniform_double_from_words(self.words(count))

    def normals(self, count: int) -> NDArray[np.float32]:
        """float32[count], in pairs: sine, then cosine."""
        pairs = (count + 1) // 2
        if self.generator == "mrg32k3a":
            return _box_muller(self.uniforms(2 * pairs))[:count]
        return maps.normal_from_words(self.words(2 * pairs))[:count]

    def _values(self, count: int) -> NDArray[np.int64]:
        return mrg32k3a.mrg32k3a_values([self.seed], [self.subsequence], [self.offset], count).reshape(-1)


def _box_muller(uniforms: NDArray[np.float32]) -> NDArray[np.float32]:
    """As `maps.normal_from_words`, with the angle from the second uniform."""
    angle = (uniforms[1::2] * maps.TWO_PI).astype(np.float64)
    radius = np.sqrt(np.float32(-2) * np.log(uniforms[0::2].astype(np.float64)).astype(np.float32))
    pair = [np.sin(angle).astype(np.float32) * radius, np.cos(angle).astype(np.float32) * radius]
    return np.stack(pair, axis=-1).reshape(-1)

"""PyTorch's CPU generator: MT19937 and the serial kernels that read it. A tensor's elements take words in order.

Sources: ATen/core/DistributionsHelper.h, TransformationHelper.h, native/cpu/DistributionTemplates.h; recorded outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.streams import torch_values as values
from repro.streams.base import Stream
from repro.streams.mt19937 import mt19937_words

U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]


@dataclass(frozen=True)
class TorchCpu(Stream):
    """`start` counts the 32-bit words that the generator gave since manual_seed(seed); `after` moves on.

    A 64-bit draw takes two words, the first on top. The seed counts modulo 2^32.
    """

    seed: int
    start: int

    def after(self, words: int) -> TorchCpu:
        """The generator after a call that took this many words."""
        return replace(self, start=self.start + words)

    def words(self, count: int) -> U32:
        """uint32[count]."""
        return mt19937_words(self.seed, self.start, count)

    def words64(self, count: int) -> NDArray[np.uint64]:
        """uint64[count], two words each."""
        return values.high_first(self.words(2 * count).reshape(-1, 2))

    def uniforms(self, count: int, dtype: str = "float32") -> NDArray[Any]:
        """torch.rand: 24 bits of a word, float32[count] also for `bfloat16` and `float16` (rounded, and 1.0 becomes 0);
        53 bits of two words for `float64`."""
        if dtype == "float64":
            return self.doubles(count)
        real = values.rounded(_float24(self.words(count)), dtype)
        return np.where(real == 1, np.float32(0), real)

    def doubles(self, count: int) -> F64:
        """float64[count] in [0, 1) of 53 bits, two words each."""
        return (self.words64(count) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53

    def exponentials(self, count: int) -> F32:
        """Tensor.exponential_(1), float32[count]: -log1p(-u) of a 53-bit u, rounded once; two words each. Can be 0."""
        return (-np.log1p(-self.doubles(count))).astype(np.float32)

    def normals(self, count: int) -> F32:
        """torch.randn, float32[count], within 2^-19: fewer than 16 go by pairs of 53-bit uniforms, 16 and more by
        groups of 16 words, and a rest redraws the last 16."""
        if count < 16:
            u = self.doubles(2 * (-(-count // 2)))
            radius, angle = np.sqrt(-2 * np.log1p(-u[1::2])), 2 * np.pi * u[0::2]
            pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
            return pairs.ravel()[:count].astype(np.float32)
        u24 = _float24(self.words(count + 16))
        whole = count - count % 16
        out = np.empty(count, np.float32)
        out[:whole] = _sixteens(u24[:whole])
        if count % 16:
            out[-16:] = _sixteens(u24[count:])
        return out

    def randint(self, count: int, low: int, high: int) -> NDArray[np.int64]:
        """torch.randint(low, high), int64[count]: one word each below a range of 2^28, two from there on."""
        span = values.check_range(low, high)
        draws = self.words(count).astype(np.uint64) if span < 2**28 else self.words64(count)
        return values.into_range(draws, span, low)

    def bernoulli(self, count: int, p: float) -> NDArray[np.bool_]:
        """Tensor.bernoulli_(p): u < p of 53-bit uniforms, two words each."""
        return self.doubles(count) < p

    def randperm(self, count: int) -> NDArray[np.int64]:
        """torch.randperm below 2^31 - 20 elements: each place in turn swaps with one at or after it; a word each."""
        order = np.arange(count)
        for place, word in enumerate(self.words(max(count - 1, 0)).tolist()):
            other = place + word % (count - place)
            order[place], order[other] = order[other], order[place]
        return order

    def multinomial_replaced(self, cdf: F64, samples: int) -> NDArray[np.int64]:
        """torch.multinomial(replacement=True), 2 or more samples of one row: the first column whose cumulative
        probability (float64[columns], the last 1) reaches a 53-bit u."""
        return np.searchsorted(cdf, self.doubles(samples), side="left")


def _float24(words: U32) -> F32:
    return (words & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0**-24)


def _sixteens(u: F32) -> F32:
    """Box-Muller in groups of 16: radius from the first eight, angle from the last; cosines first."""
    groups = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2 * np.log((np.float32(1) - groups[:, 0]).astype(np.float64)))
    angle = 2 * np.pi * groups[:, 1].astype(np.float64)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1).astype(np.float32)

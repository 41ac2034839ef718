"""PyTorch's CUDA generator and the kernels that fill a contiguous tensor from it.

Thread t of a grid of T threads reads the stream (seed, subsequence t) from the generator's offset. Element i comes
from thread i mod T: its (i div T mod U)-th value of call i div (T U), U values a call. T follows the GPU as soon as the
tensor has more elements than the GPU has threads for. Source: ATen/native/cuda/DistributionTemplates.h, Dropout.cu,
MultinomialKernel.cu, Randperm.cu, curand_kernel.h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.rng import maps, words_many
from deepinfer.rng.reference import uniform_from_words
from repro.streams import torch_values as values
from repro.streams.base import Stream

U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
F32 = NDArray[np.float32]
BLOCK = 256
VALUES = {4: "float32, float16, bfloat16, int32 and ranges below 2^28", 2: "float64, int64 and ranges from 2^28 on"}
"""U, the values of one call, and for which tensors."""


@dataclass(frozen=True)
class TorchCuda(Stream):
    """Each method gives what one call of torch's gives on a generator in state (seed, offset); `after` moves on.

    `sm_count` and `threads_per_sm` are the GPU's multiprocessors and the threads that one of them holds. Tensors of
    more than 2^31 - 1 elements, which torch cuts into several launches, are refused.
    """

    seed: int
    offset: int
    sm_count: int
    threads_per_sm: int

    def __post_init__(self) -> None:
        if self.offset % 4:
            raise InputError(f"offset is {self.offset}: the generator's offset is a multiple of 4")

    def threads(self, count: int) -> int:
        """T, the threads of the launch that fills `count` elements."""
        if not 0 < count < 2**31:
            raise InputError(f"count is {count}: give 1 to 2^31 - 1 elements, the largest single launch")
        return BLOCK * min(-(-count // BLOCK), self.sm_count * (self.threads_per_sm // BLOCK))

    def after(self, count: int, per_call: int = 4) -> TorchCuda:
        """The generator after a call that fills `count` elements, `per_call` (4 or 2) values at a time."""
        turns = (count - 1) // (self.threads(count) * per_call) + 1
        return replace(self, offset=self.offset + 4 * turns)

    def words(self, count: int) -> U32:
        """The 32-bit word of each element, uint32[count]."""
        return self._lanes(count, 4)[:, 0]

    def word_pairs(self, count: int) -> U32:
        """The two words of each 64-bit element, uint32[count, 2]."""
        return self._lanes(count, 2)

    def uniforms(self, count: int, dtype: str = "float32") -> NDArray[Any]:
        """torch.rand in [0, 1): float32[count], also for `bfloat16` and `float16` (their values), or float64."""
        if dtype == "float64":
            return values.uniform_double(self.word_pairs(count))
        return values.uniform(self.words(count), dtype)

    def normals(self, count: int) -> F32:
        """torch.randn, float32[count], within 2^-17: __sincosf is off by up to 2^-20.4 (every word on an H200)."""
        turned = maps.normal_from_words(self._blocks(count, 4)).transpose(0, 2, 1)
        return turned.reshape(-1)[:count]

    def exponentials(self, count: int) -> F32:
        """Tensor.exponential_(1), float32[count] before __logf's error (`torch_values.exponential_error`)."""
        return values.exponential(uniform_from_words(self.words(count)))

    def randint(self, count: int, low: int, high: int) -> NDArray[np.int64]:
        """torch.randint(low, high), int64[count]: a range from 2^28 on takes two words an element, in another order."""
        span = values.check_range(low, high)
        if span < 2**28:
            return values.into_range(self.words(count).astype(np.uint64), span, low)
        return values.into_range(values.high_first(self.word_pairs(count)), span, low)

    def random(self, count: int) -> NDArray[np.int64]:
        """Tensor.random_() of an int64 tensor: 0 to 2^63 - 1."""
        return values.into_range(values.high_first(self.word_pairs(count)), 2**63, 0)

    def bernoulli(self, probs: F32) -> NDArray[np.bool_]:
        """torch.bernoulli(probs): u <= p, four neighbours from one thread; the same on every GPU. Advances by 12."""
        return self._fours(len(probs)) <= probs

    def bernoulli_scalar(self, count: int, p: float) -> NDArray[np.bool_]:
        """Tensor.bernoulli_(p): u < p."""
        return uniform_from_words(self.words(count)) < np.float32(p)

    def dropout(self, count: int, p: float) -> NDArray[np.bool_]:
        """The kept elements of dropout(p) on float32, vectorised by four; up to 4 T elements."""
        if count > 4 * self.threads(count):
            raise InputError(f"count is {count}: dropout is known up to {4 * self.threads(count)} elements on this GPU")
        return self._fours(count) < np.float32(1 - p)

    def multinomial_replaced(self, cdf: NDArray[np.float64], samples: int) -> NDArray[np.int64]:
        """torch.multinomial(replacement=True) of 2 or more samples: the first column whose cumulative probability
        reaches u. `cdf` float64[rows, columns] of the normalised rows; int64[rows, samples]."""
        rows = np.arange(len(cdf))[:, None] * (128 * -(-samples // 128)) + np.arange(samples)
        words = words_many([self.seed], rows.ravel().astype(np.uint64), [self.offset], 1)
        u = uniform_from_words(words).reshape(rows.shape)
        hits = [np.searchsorted(row, draws, side="left") for row, draws in zip(cdf, u, strict=True)]
        columns: NDArray[np.int64] = np.minimum(np.stack(hits), cdf.shape[1] - 1)
        return columns

    def randperm(self, count: int) -> NDArray[np.int64]:
        """torch.randperm, for fewer than 2^16 elements: a stable sort of keys cut to the bits that keep a tie rare.
        Raises InputError where two keys tie: torch then shuffles them in a second kernel."""
        return values.permutation(self.randint(count, -(2**31), 2**31 - 1), count)

    def _fours(self, count: int) -> F32:
        words = words_many([self.seed], np.arange(-(-count // 4), dtype=np.uint64), [self.offset], 4)
        return uniform_from_words(words).ravel()[:count]

    def _blocks(self, count: int, per_call: int) -> U32:
        """uint32[turns, T, 4]."""
        threads = self.threads(count)
        turns = (count - 1) // (threads * per_call) + 1
        lanes = np.arange(threads, dtype=np.uint64)
        return np.stack([words_many([self.seed], lanes, [self.offset + 4 * turn], 4) for turn in range(turns)])

    def _lanes(self, count: int, per_call: int) -> U32:
        """uint32[count, 4 / per_call]: the words of each element."""
        blocks = self._blocks(count, per_call)
        turns, threads, _ = blocks.shape
        split = blocks.reshape(turns, threads, per_call, 4 // per_call)
        return split.transpose(0, 2, 1, 3).reshape(-1, 4 // per_call)[:count]

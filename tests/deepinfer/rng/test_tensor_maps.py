"""The float map of torch and Triton on the words where it is decided: streams hardly ever meet them."""

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl

from deepinfer.rng.reference import uniform_from_words
from deepinfer.rng.torch_impl import uniform_from_words as torch_map
from deepinfer.rng.triton_impl import uniform_from_word

EDGES = np.r_[0:64, 2**31 - 64 : 2**31 + 64, 2**32 - 320 : 2**32].astype(np.uint32)


@triton.jit
def kernel(words, out, N: tl.constexpr):  # noqa: N803
    place = tl.arange(0, N)
    tl.store(out + place, uniform_from_word(tl.load(words + place).to(tl.uint32, bitcast=True)))


def test_triton_map() -> None:
    out = torch.full((len(EDGES),), torch.nan)
    kernel[(1,)](torch.from_numpy(EDGES.view(np.int32)), out, N=len(EDGES))
    np.testing.assert_array_equal(out.numpy().view(np.uint32), uniform_from_words(EDGES).view(np.uint32))


def test_torch_map() -> None:
    out = torch_map(torch.from_numpy(EDGES.astype(np.int64))).numpy()
    np.testing.assert_array_equal(out.view(np.uint32), uniform_from_words(EDGES).view(np.uint32))

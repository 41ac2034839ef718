"""Triton 3.6 on an H200."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from repro.streams import stream
from repro.streams.triton import Triton, uniform

Arrays = dict[str, NDArray[np.generic]]
SEEDS = (0, 1234, 4294967301)
OFFSETS = (0, 1000, 2147483348, 8589934592)


def kernel(seed: int, offset: int, bits: int = 64) -> Triton:
    made = stream("triton", "3.6.0", seed=seed, offset=offset, offset_bits=bits)
    assert isinstance(made, Triton)
    return made


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_recorded_call(triton_gpu: Arrays, seed: int, offset: int) -> None:
    made, name = kernel(seed, offset), f"seed{seed}.off{offset}"
    assert np.array_equal(made.words(512).view(np.int32), triton_gpu[f"randint.{name}"])
    assert np.array_equal(made.blocks(512).view(np.int32).T.ravel(), triton_gpu[f"randint4x.{name}"])
    assert np.array_equal(made.uniforms(512), triton_gpu[f"rand.{name}"])
    assert np.abs(made.normals(512) - triton_gpu[f"randn.{name}"]).max() < 2.0**-19


def test_a_32_bit_offset_wraps(triton_gpu: Arrays) -> None:
    assert np.array_equal(kernel(0, 2**32 - 4, 32).words(8)[4:], kernel(0, 0).words(4))
    assert not np.array_equal(kernel(0, 2**32 - 4, 64).words(8)[4:], kernel(0, 0).words(4))
    assert not np.array_equal(
        kernel(0, 2**33 % 2**32, 32).words(512).view(np.int32), triton_gpu["randint.seed0.off8589934592"]
    )


def test_a_word_and_its_complement_are_one_float() -> None:
    words = np.asarray([0, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFF7F, 0x00000080], np.uint32)
    u = uniform(words)
    assert u[0] == u[1] == 0
    assert u[2] == u[3] == np.float32(1) - np.float32(2.0**-24)
    assert u[4] == u[5] > 0

"""Words of generators that only libcurand's own host code gives: MTGP32 and its MT19937."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.native import pointer
from deepinfer.rng.curand_oracle import with_host_generator

KINDS = {"mtgp32": 141, "mt19937": 142}
"""curandRngType."""


def library_words(generator: str, seed: int, count: int) -> NDArray[np.uint32]:
    """The first `count` outputs of curandGenerate, uint32[count]. Raises MissingExtra without libcurand."""
    out = np.zeros(count, np.uint32)

    def use(call: Any, handle: Any) -> None:
        call("curandGenerate", handle, pointer(out, np.uint32, write=True), ctypes.c_size_t(count))

    with_host_generator(seed, 0, "default", use, KINDS[generator])
    return out

"""Philox2x32-10 (Salmon et al. 2011)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
MULTIPLIER, WEYL, ROUNDS = 0xD256D193, 0x9E3779B9, 10
_MASK = np.uint64(0xFFFFFFFF)


def philox2x32(counter: U32, key: U32) -> U32:
    """The block function: counter uint32[..., 2] and key uint32[...] (broadcast) to uint32[..., 2]."""
    c0, c1 = counter[..., 0].astype(np.uint64), counter[..., 1].astype(np.uint64)
    k = key.astype(np.uint64)
    for _ in range(ROUNDS):
        product = c0 * np.uint64(MULTIPLIER)
        c0, c1 = (product >> np.uint64(32)) ^ k ^ c1, product & _MASK
        k = (k + np.uint64(WEYL)) & _MASK
    return np.stack(np.broadcast_arrays(c0, c1), axis=-1).astype(np.uint32)

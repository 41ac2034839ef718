"""Threefry-2x32 with 20 rounds (Salmon et al. 2011)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)


def threefry2x32(counter: U32, key: U32) -> U32:
    """The block function: counter uint32[..., 2] and key uint32[..., 2] (broadcast) to uint32[..., 2]."""
    with np.errstate(over="ignore"):  # a scalar that wraps warns, an array does not
        schedule = [key[..., 0], key[..., 1], key[..., 0] ^ key[..., 1] ^ PARITY]
        x0, x1 = counter[..., 0] + schedule[0], counter[..., 1] + schedule[1]
        for group in range(5):
            for turn in ROTATIONS[group % 2]:
                x0 = x0 + x1
                x1 = ((x1 << np.uint32(turn)) | (x1 >> np.uint32(32 - turn))) ^ x0
            x0 = x0 + schedule[(group + 1) % 3]
            x1 = x1 + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return np.stack(np.broadcast_arrays(x0, x1), axis=-1)

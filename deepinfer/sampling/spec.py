"""The constants and small maps of docs/spec/sampling.md that every backend shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ONE = 2**31
"""Fixed-point one of the float samplers: a probability p has weight floor(p * ONE)."""

EXACT_SHIFT = 44
"""log2 of the weight of the largest column in `exact_sample`."""

MAX_COLUMNS = {"two_level": 2**30, "fused_sample": 2**30, "exact_sample": 2**19}
TILED_FROM = 8192
TILED_LANES = 2048
FLOAT_MAX = np.float32(np.finfo(np.float32).max)
DRAFT_PENALTY = np.float32(5e-5)
GREEDY_BELOW = np.float32(1e-5)
"""Upstream's greedy: under numbering `deepinfer`, a temperature below this becomes this, with the filters off."""

DRAWS = ("modulo_reject", "multiply_shift")
FILTER_ORDERS = ("joint", "top_k_first")


def lanes(columns: int) -> int:
    """BD, the number of CDF lanes: 2048 from 8192 columns on, else the next power of two >= columns."""
    return TILED_LANES if columns >= TILED_FROM else 1 << (columns - 1).bit_length()


def cdf_order(columns: int) -> NDArray[np.int64]:
    """The order in which the CDF walks the columns, int64[V]: lanes in order, inside a lane its columns in order."""
    column = np.arange(columns)
    bd = lanes(columns)
    return column if columns <= bd else np.lexsort((column // bd, column % bd))


def rejection_limit(total: int) -> int:
    """Words at or above this are rejected by `modulo_reject`: floor((2^32 - 1) / total) * total."""
    return (2**32 - 1) // total * total

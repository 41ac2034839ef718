"""The integers that define `exact_sample` (docs/spec/sampling.md, D), written once; every backend is made from them.

`u0.32` is an unsigned 32-bit integer read as that many units of 2^-32; `hi(a, b)` is the upper half of the 64-bit
product of two such numbers, `floor(a * b / 2^32)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepinfer.sampling.params import Plan
from deepinfer.sampling.spec import EXACT_SHIFT, FLOAT_MAX

ORDER = "integer"
ONE_WEIGHT = 1 << EXACT_SHIFT
"""The weight of the largest column."""

FRACTION_BITS = 24
POWER = (2977044458, 1031764650, 238385494, 41298234, 5702267, 632021, 46333)
"""C_1 .. C_7, u0.32, of 2^-t = 1 - t * (C_1 - t * (C_2 - ... - t * C_7)): minimax in relative error, 1 at 0."""

LOG1P = (
    2147483102, 1431628125, 1073251299, 854609690, 692749761,
    535458990, 356800646, 180308780, 58546861, 8903262,
)  # fmt: skip
"""A_1 .. A_10, u0.32, of ln(1 + u) = u - u * u * (A_1 - u * (A_2 - ... - u * A_10)): minimax in relative error."""

LN2 = 2977044472
"""ln 2, u0.32."""

LOG2_E = float.fromhex("0x1.71547652b82fep+0")

WORDS = 2


def scale(temperature: NDArray[np.float32]) -> NDArray[np.float32]:
    """c of step 1, float32[Q]: log2(e) / T in float64, rounded once, at most the largest float (0 where T is 0)."""
    with np.errstate(divide="ignore", over="ignore"):
        c = (LOG2_E / temperature.astype(np.float64)).astype(np.float32)
    return np.where(temperature == 0, np.float32(0), np.minimum(c, FLOAT_MAX))


def top_p32(top_p: NDArray[np.float32]) -> NDArray[np.uint64]:
    """P of step 3, uint64[Q]: min(floor(top_p * 2^32), 2^32 - 1), and 2^32 where top-p is off."""
    units = np.floor(top_p.astype(np.float64) * 2.0**32)
    return np.where(top_p < 1, np.minimum(units, 2.0**32 - 1), 2.0**32).astype(np.uint64)


def renormalises(plan: Plan) -> NDArray[np.bool_]:
    """Rows whose top-p counts against the mass that top-k left, bool[Q]."""
    return (plan.filter_order == "top_k_first") & (plan.top_p < 1) & (plan.ks <= plan.shape[1])

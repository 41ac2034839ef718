"""How far two implementations of docs/spec/sampling.md, A, may lie apart: the bound that makes a counterfactual
admissible, and the scale of the noise that makes a prediction (derivation: section B of that file).

Everything is in u = 2^-24, the largest relative error of one float32 rounding; one u of the whole mass is 128 units of
2^-31. Nothing here is fitted to results.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.case import Subject
from harness.recorded import RECORDING
from harness.subjects import RecordedSubject

F64 = NDArray[np.float64]
U = 2.0**-24
UNITS = 128.0
"""Units of 2^-31 in one u of the mass."""
SPREAD = 4.0
"""Sums of many independent roundings are bounded by this many standard deviations, or by their worst case if less."""
ROUNDING_VARIANCE = 0.18
"""Mean square, in u^2, of the relative error of one rounding, uniform in half an ULP either way."""


@dataclass(frozen=True)
class Arithmetic:
    """What is assumed of one implementation's exp, log and sums.

    `exp` + `exp_slope` * |x| bounds the relative error of exp(x), `log` that of log, both in u; `exp_std` and
    `exp_std_slope` are the standard deviation from the rounded true value, `log_off` how often log is an ULP from it.
    `lanes` partial sums run side by side and are joined by a tree; 0: the sum is exact and rounded once. From 8192
    columns on there are `wide_lanes`.
    """

    name: str
    exp: float
    exp_slope: float
    log: float
    exp_std: float
    exp_std_slope: float
    log_off: float
    lanes: int
    wide_lanes: int = 0

    def sum_depth(self, count: F64, columns: int) -> F64:
        """Additions that one addend goes through, as an error bound in u: min(d, 4 sqrt d)."""
        lanes = self._lanes(columns)
        depth = np.ceil(count / lanes) + np.ceil(np.log2(lanes)) if lanes else np.ones_like(count)
        return np.minimum(depth, SPREAD * np.sqrt(depth))

    def sum_variance(self, count: F64, columns: int, alike: bool) -> F64:
        """Variance, in u^2, of the relative error of a sum of `count` positive addends before it is rounded to float32.

        Lanes round independently; `alike` (few distinct addends) they round together. The serial part of a lane adds
        n / 3 roundings of its own sum, each level of the tree one of every node.
        """
        lanes = self._lanes(columns)
        if not lanes:
            return np.zeros_like(count)
        serial = count / (3.0 * lanes)
        levels = np.log2(lanes) - 1
        return np.asarray(ROUNDING_VARIANCE * (serial + levels if alike else serial / lanes + 1.0))

    def exp_noise(self, x: F64) -> F64:
        """Standard deviation of exp(x), relative, in u."""
        if not self.exp_std_slope:
            return np.asarray(self.exp_std)
        return np.hypot(self.exp_std, self.exp_std_slope * np.abs(x))

    def _lanes(self, columns: int) -> int:
        return self.wide_lanes if self.wide_lanes and columns >= 8192 else self.lanes


REFERENCE = Arithmetic("exp and log rounded once, float64 sums", 1, 0, 1, 0, 0, 0, 0)
NATIVE64 = Arithmetic("exp within 0.79 ULP, log rounded once, float64 sums", 1.58, 0, 1, 0.45, 0, 0, 0)
NATIVE32 = Arithmetic("exp within 0.79 ULP, log rounded once, float32 sums in 16 lanes", 1.58, 0, 1, 0.45, 0, 0, 16)
CUDA = Arithmetic(
    "expf and logf within 2 ULP, float32 sums of 128 threads (256 from V = 8192)", 4, 0, 4, 0.77, 0, 0.09, 128, 256
)
OTHER = Arithmetic(
    "exp within 2 ULP plus |x| u, log within 2 ULP, float32 sums of 128 lanes", 4, 1, 4, 0.77, 0.35, 0.09, 128
)
"""CUDA and OTHER are measured: on an H200, over 8 million arguments in each of five ranges of -22 .. 0, CUDA's expf lay
within 2.6 u (standard deviation 0.77 u) and Triton 3's tl.exp, which scales by log2 e in float32, within |x| + 2.6 u
(0.35 |x| u); logf was an ULP off in 3 to 9 of 100. What is assumed is wider."""

BY_ORDER = {"fp64": REFERENCE, "fp64_lanes16": NATIVE64, "fp32_lanes16": NATIVE32}
"""Order id of a record -> what is known of its arithmetic; any other is OTHER."""


def arithmetic_of_order(order: str) -> Arithmetic:
    """The arithmetic that a record's order id names."""
    return BY_ORDER.get(order, OTHER)


def arithmetic_of(subject: Subject, order: str | None) -> Arithmetic:
    """The arithmetic of a side, from its record's order id, or from being DeepInfer's recording."""
    if order is not None:
        return arithmetic_of_order(order)
    if isinstance(subject, RecordedSubject) and subject.source == RECORDING:
        return CUDA
    return OTHER


@dataclass(frozen=True)
class RowSize:
    """The magnitudes of each row on which its error depends, one entry a row.

    `entropy` is the mean of |lp| under the final distribution, `log_mass` |log of the kept mass| (of S where nothing is
    cut), `lse` the spacing of the float32 lse0 in force, `kept` the kept columns, `floored` those whose weight loses a
    fraction, `sums` how many float sums were made.
    """

    entropy: F64
    log_mass: F64
    lse_spacing: F64
    kept: F64
    floored: F64
    sums: F64
    columns: int


def side_error(one: Arithmetic, size: RowSize) -> F64:
    """Bound of one side's error of `total` before the floors, in units, one entry a row.

    In turn: exp in the mass, its sum, log, the roundings of lp in the mass, the rounding of lse0, exp in the weights,
    the roundings of lp in the weights.
    """
    before = size.entropy + size.log_mass
    errors = (
        (one.exp + one.exp_slope * before)
        + one.sum_depth(size.kept, size.columns) * size.sums
        + one.log * size.log_mass
        + before
        + size.lse_spacing / 2 / U
        + (one.exp + one.exp_slope * size.entropy)
        + size.entropy
    )
    return np.asarray(UNITS * errors)


def floor_error(floored: F64) -> F64:
    """How far two sums of floors may lie apart beyond their addends: a unit a column, or 4 deviations if less."""
    return np.minimum(floored, SPREAD * np.sqrt(floored / 6))


def total_bound(first: Arithmetic, second: Arithmetic, size: RowSize) -> NDArray[np.int64]:
    """Bound of the distance of the two sides' totals, in units, int64[Q]; -1 where a row has no magnitudes (NaN)."""
    bound = side_error(first, size) + side_error(second, size) + floor_error(size.floored)
    return np.asarray(np.where(np.isfinite(bound), np.ceil(bound), -1).astype(np.int64))

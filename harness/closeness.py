"""Which of two sides is closer to an fp64 reference, in ULP of what they answer in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness import bits
from harness.result import Closeness, Comparison

Array = NDArray[Any]
F64 = NDArray[np.float64]


def closeness_of(baseline: Array, candidate: Array, reference: Array, *, output: str = "output") -> Closeness:
    """Distances of two float arrays of one shape and dtype from `reference`, float64 of that shape.

    Raises InputError where the reference is of another dtype or shape, or the sides are not floats.
    """
    if bits.float_layout(baseline.dtype) is None:
        raise InputError(f"a reference for {output!r}, which is {baseline.dtype}: give one for float outputs alone")
    if reference.dtype != np.float64 or reference.shape != baseline.shape:
        got = f"{reference.dtype}{list(reference.shape)}"
        raise InputError(f"the reference answers {got} for {output!r}: give float64{list(baseline.shape)}")
    first, second = ulp_from(reference, baseline), ulp_from(reference, candidate)
    other = bits.differs(baseline, candidate)
    return Closeness(
        baseline_max=float(first.max()),
        candidate_max=float(second.max()),
        baseline_median=float(np.median(first)),
        candidate_median=float(np.median(second)),
        differing=int(other.sum()),
        baseline_closer=int((other & (first < second)).sum()),
        candidate_closer=int((other & (second < first)).sum()),
    )


def ulp_from(reference: F64, array: Array) -> F64:
    """|array - reference| in units in the last place that `array`'s dtype has at the reference, float64.

    0 where both are NaN, or the same infinity, or infinity where the reference rounds to it; infinite where only one is
    a number. At most 0.5 for a correctly rounded result.
    """
    layout = bits.float_layout(array.dtype)
    assert layout is not None
    smallest = float(np.ones(1, f"u{array.dtype.itemsize}").view(array.dtype)[0])
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        x = array.astype(np.float64)
        _, exponent = np.frexp(np.abs(reference))
        unit = np.maximum(np.ldexp(1.0, exponent - 1 - layout.mantissa), smallest)
        rounded = reference.astype(array.dtype).astype(np.float64)
        distance = np.abs(x - reference) / unit
    same = (x == reference) | (np.isnan(x) & np.isnan(reference)) | (np.isinf(x) & (x == rounded))
    return np.where(same, 0.0, np.where(np.isfinite(x) & np.isfinite(reference), distance, np.inf))


def with_closeness(comparison: Comparison, baseline: Array, candidate: Array, reference: Array) -> Comparison:
    """The comparison with both sides' distances in its evidence and its reason; its verdict stays."""
    found = closeness_of(baseline, candidate, reference, output=comparison.output)
    return replace(comparison, closeness=found, reason=f"{comparison.reason}; {text(found)}")


def text(found: Closeness) -> str:
    """Both distances and who is closer, in one clause."""
    sides = (
        f"from the fp64 reference the baseline is at most {found.baseline_max:.3g} ULP (median"
        f" {found.baseline_median:.3g}), the candidate at most {found.candidate_max:.3g} (median"
        f" {found.candidate_median:.3g})"
    )
    if not found.differing:
        return sides
    return (
        f"{sides}; of {found.differing} elements that differ, {found.baseline_closer} are closer in the baseline and"
        f" {found.candidate_closer} in the candidate"
    )

"""Element by element: which differing elements a rule lets pass, and the evidence of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness import bits
from harness.result import Comparison, Verdict
from harness.rules import Bitwise, Tolerance, Ulp

Array = NDArray[Any]
Mask = NDArray[np.bool_]
ElementRule = Bitwise | Ulp | Tolerance
UNORDERED = ("NaN payload", "NaN against a number", "infinity against a number")
"""Classes of difference that no distance describes."""
VACUITY_FIRST = 4096


def compare_elements(rule: ElementRule, output: str, baseline: Array, candidate: Array) -> Comparison:
    """Compare two arrays of one shape and dtype, at least one element. Elements of equal bits pass under every rule.

    Raises InputError where the rule does not fit the dtype, or where it is so wide that zeros would pass for data
    that are not zero.
    """
    _check_rule(rule, baseline)
    at = np.flatnonzero(bits.differs(baseline, candidate))
    a, b = baseline.reshape(-1)[at], candidate.reshape(-1)[at]
    special = {name: mask for name, mask in bits.classes(a, b).items() if mask.any()}
    unordered = np.zeros(len(at), np.bool_)
    for name in UNORDERED:
        unordered |= special.get(name, unordered)
    distance = distances(rule, a, b)
    bad = beyond(rule, a, b)
    ordered = distance[~unordered] if baseline.dtype.kind != "b" else distance[:0]
    count, total = int(bad.sum()), baseline.size
    same = total - len(at)
    return Comparison(
        output=output,
        rule=rule.text,
        verdict=Verdict.DRIFT if count else Verdict.PASS,
        reason=_reason(rule, total, count, ordered, special),
        elements=total,
        rows=baseline.shape[0],
        differing=count,
        first=bits.difference_at(baseline, candidate, int(at[np.argmax(bad)])) if count else None,
        worst=_worst(baseline, candidate, at, bad, distance, unordered) if count else None,
        max_ulp=_largest(ordered, same),
        median_ulp=_median(ordered, same),
        histogram=_histogram(ordered, same, special),
    )


def beyond(rule: ElementRule, a: Array, b: Array) -> Mask:
    """Which pairs of elements, not all of equal bits, the rule refuses."""
    if isinstance(rule, Bitwise):
        return bits.differs(a, b)
    if isinstance(rule, Tolerance):
        with np.errstate(invalid="ignore", over="ignore"):  # a signalling NaN raises even when it is only read
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            near = np.abs(wide_b - wide_a) <= rule.atol + rule.rtol * np.abs(wide_a)
            near &= np.isfinite(wide_a) & np.isfinite(wide_b)
            return np.asarray(~(near | (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))))
    bad = np.asarray(distances(rule, a, b) > rule.n)
    special = bits.classes(a, b)
    if special:
        bad = (bad & ~special["NaN payload"]) | special["NaN against a number"] | special["infinity against a number"]
    return bad


def distances(rule: ElementRule, a: Array, b: Array) -> NDArray[Any]:
    """The distance of each pair in the units of the rule: representable numbers between, or ULP of a scale."""
    if isinstance(rule, Ulp) and rule.at_least is not None:
        return bits.ulp_of_at_least(a, b, rule.at_least)
    return bits.ulp_distance(a, b)


def _check_rule(rule: ElementRule, baseline: Array) -> None:
    is_float = bits.float_layout(baseline.dtype) is not None
    if isinstance(rule, Bitwise):
        return
    if isinstance(rule, Tolerance) and not is_float:
        raise InputError(f"{rule.text} on dtype {baseline.dtype}: give bitwise or ulp")
    if isinstance(rule, Ulp) and (baseline.dtype.kind == "b" or (rule.at_least is not None and not is_float)):
        raise InputError(f"{rule.text} on dtype {baseline.dtype}: give bitwise")
    flat = baseline.reshape(-1)
    for part in (flat[:VACUITY_FIRST], flat):  # a few elements mostly settle it
        if beyond(rule, part, np.zeros_like(part)).any():
            return
    if isinstance(rule, Ulp) and not (bits.ulp_distance(flat, np.zeros_like(flat)) != 0).any():
        return
    raise InputError(f"{rule.text} is vacuous here: zeros would pass; give a tighter rule, or bitwise")


def _reason(rule: ElementRule, total: int, count: int, ordered: NDArray[Any], special: dict[str, Mask]) -> str:
    good = {Bitwise: "equal in every bit", Tolerance: "within the tolerance"}.get(type(rule))
    if isinstance(rule, Ulp):
        good = f"within {rule.n} ULP" + ("" if rule.at_least is None else f" of max(|x|, {rule.at_least:g})")
    if not count:
        return f"{total} elements, {good}"
    apart = f", at most {_largest(ordered, 0)} ULP apart" if ordered.size else ""
    return f"{count} of {total} elements not {good}{apart}" + "".join(
        f", {int(mask.sum())} {name}" for name, mask in special.items()
    )


def _worst(
    baseline: Array, candidate: Array, at: NDArray[np.int64], bad: Mask, distance: NDArray[Any], unordered: Mask
) -> Any:
    """The worst refused element: one that has no distance (NaN, infinity) before the largest distance."""
    if (bad & unordered).any():
        return bits.difference_at(baseline, candidate, int(at[np.argmax(bad & unordered)]))
    return bits.difference_at(baseline, candidate, int(at[np.argmax(np.where(bad, distance, 0))]))


def _largest(ordered: NDArray[Any], same: int) -> int | None:
    if ordered.size:
        return int(np.ceil(ordered.max()))
    return 0 if same else None


def _median(ordered: NDArray[Any], same: int) -> float | None:
    """The median over the elements that have a distance, of which `same` have none to speak of: 0."""
    if ordered.size + same == 0:
        return None
    if ordered.size < same:
        return 0.0
    return float(np.median(np.concatenate([np.zeros(same, ordered.dtype), ordered])))


def _histogram(ordered: NDArray[Any], same: int, special: dict[str, Mask]) -> dict[str, int]:
    counts = {"0": same} if same else {}
    for name, count in bits.histogram(ordered).items():
        counts[name] = counts.get(name, 0) + count
    counts.update({name: int(mask.sum()) for name, mask in special.items()})
    return counts

"""One output of two sides under one rule, with evidence. Nothing here can pass without having compared something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness import bits
from harness.agreement import clustered_rate, rate_of, sentence
from harness.case import Floor
from harness.result import Comparison, Verdict
from harness.rules import Agreement, Bitwise, Ignore, Rule, SameSet, Tolerance, Ulp

Array = NDArray[Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Context:
    """What a rule may need beside the two arrays: the case's floor, labels of dependent rows, rows of `kept` that an
    explanation has proven (SameSet), and the day on which `ignore` is judged."""

    floor: Floor | None = None
    clusters: Array | None = None
    proven: Mask | None = None
    today: date | None = None


def compare(
    rule: Rule | None, baseline: Array | None, candidate: Array | None, floor: Floor | None = None, *,
    output: str = "output", clusters: Array | None = None, proven: Mask | None = None, today: date | None = None,
) -> Comparison:  # fmt: skip
    """Compare `candidate` with `baseline` under `rule`; None stands for a side that did not answer.

    No rule, a missing side, another shape or dtype: NOT_COMPARABLE. Zero rows or elements: EMPTY. An `ignore` in
    force: EMPTY too, as nothing is compared; an expired one: NOT_COMPARABLE. Raises InputError where the rule itself
    is at fault: a tolerance that zeros would pass, a rule for another kind of data, agreement without a floor.
    """
    text = "none" if rule is None else rule.text
    refusal = _refusal(rule, baseline, candidate, today or date.today())
    if refusal is not None:
        return Comparison(output, text, *refusal)
    assert rule is not None
    assert baseline is not None
    assert candidate is not None
    context = Context(floor, clusters, proven)
    for kind, judge in _JUDGES:
        if isinstance(rule, kind):
            return replace(judge(rule, baseline, candidate, context), output=output, rule=text)
    raise TypeError(f"no comparator for {rule!r}")


def _refusal(
    rule: Rule | None, baseline: Array | None, candidate: Array | None, today: date
) -> tuple[Verdict, str] | None:
    """Why there is nothing to compare, or None."""
    if isinstance(rule, Ignore):
        if rule.expired(today):
            return Verdict.NOT_COMPARABLE, f"the ignore rule expired on {rule.expires}: give the output a rule"
        return Verdict.EMPTY, f"ignored until {rule.expires}: {rule.reason}"
    if baseline is None or candidate is None:
        sides = [name for name, side in (("baseline", baseline), ("candidate", candidate)) if side is None]
        return Verdict.NOT_COMPARABLE, f"missing in the {' and in the '.join(sides)}"
    if rule is None:
        return Verdict.NOT_COMPARABLE, "answered, but the case has no rule for it"
    if baseline.shape != candidate.shape:
        return Verdict.NOT_COMPARABLE, f"shape {baseline.shape} in the baseline, {candidate.shape} in the candidate"
    if baseline.dtype != candidate.dtype:
        return Verdict.NOT_COMPARABLE, f"dtype {baseline.dtype} in the baseline, {candidate.dtype} in the candidate"
    if not bits.comparable(baseline.dtype):
        return Verdict.NOT_COMPARABLE, f"dtype {baseline.dtype} has no comparable bits"
    if baseline.ndim == 0:
        return Verdict.NOT_COMPARABLE, "a scalar: give arrays with one entry a row"
    if baseline.size == 0:
        return Verdict.EMPTY, f"nothing to compare: shape {baseline.shape}"
    return None


def _bitwise(rule: Bitwise, baseline: Array, candidate: Array, context: Context) -> Comparison:
    return _elements(baseline, candidate, bits.differs(baseline, candidate), "equal bits")


def _ulp(rule: Ulp, baseline: Array, candidate: Array, context: Context) -> Comparison:
    if bits.float_layout(baseline.dtype) is None and (rule.at_least is not None or baseline.dtype.kind == "b"):
        raise InputError(f"{rule.text} on dtype {baseline.dtype}: give bitwise")
    bad = _beyond(rule, baseline, candidate)
    zeros = np.zeros_like(baseline)
    if bits.differs(baseline, zeros).any() and not _beyond(rule, baseline, zeros).any():
        raise InputError(f"{rule.text} is vacuous here: zeros would pass; give fewer units or another scale")
    return _elements(baseline, candidate, bad, f"within {rule.n} ULP", scale=rule.at_least)


def _beyond(rule: Ulp, baseline: Array, candidate: Array) -> Mask:
    if rule.at_least is not None:
        return np.asarray(bits.ulp_of_at_least(baseline, candidate, rule.at_least) > rule.n)
    bad = bits.ulp_distance(baseline, candidate) > rule.n
    special = bits.classes(baseline, candidate)
    if special:
        bad = (bad & ~special["NaN payload"]) | special["NaN against a number"] | special["infinity against a number"]
    return np.asarray(bad)


def _tolerance(rule: Tolerance, baseline: Array, candidate: Array, context: Context) -> Comparison:
    if bits.float_layout(baseline.dtype) is None:
        raise InputError(f"{rule.text} on dtype {baseline.dtype}: give bitwise or ulp")
    if not _outside(rule, baseline, np.zeros_like(baseline)).any():
        raise InputError(f"{rule.text} is vacuous here: zeros would pass; tighten atol, or give bitwise")
    return _elements(baseline, candidate, _outside(rule, baseline, candidate), "within the tolerance")


def _outside(rule: Tolerance, baseline: Array, candidate: Array) -> Mask:
    a, b = baseline.astype(np.float64), candidate.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (np.abs(b - a) <= rule.atol + rule.rtol * np.abs(a))
    return np.asarray(~(near | (a == b) | (np.isnan(a) & np.isnan(b))))


def _elements(baseline: Array, candidate: Array, bad: Mask, good: str, *, scale: float | None = None) -> Comparison:
    """The evidence every element-wise rule gives: counts, first and worst difference, ULP histogram, classes."""
    layout = bits.float_layout(baseline.dtype)
    special = {name: mask for name, mask in bits.classes(baseline, candidate).items() if mask.any()}
    unordered = np.zeros(baseline.shape, np.bool_)
    for name in ("NaN payload", "NaN against a number", "infinity against a number"):
        unordered |= special.get(name, unordered)
    distance: NDArray[Any]
    if baseline.dtype.kind == "b":
        distance = np.zeros(0, np.uint64)
    elif scale is not None:
        distance = bits.ulp_of_at_least(baseline, candidate, scale)[~unordered]
    else:
        distance = bits.ulp_distance(baseline, candidate)[~unordered]
    counts = bits.histogram(distance)
    counts.update({name: int(mask.sum()) for name, mask in special.items()})
    count = int(bad.sum())
    first = int(np.argmax(bad)) if count else None
    unit = "ULP" if layout is not None else "units"
    most = int(np.ceil(distance.max())) if distance.size else None
    reason = f"{baseline.size} elements, {good}"
    if count:
        extreme = f", at most {most} {unit} apart" if most else ""
        classes = "".join(f", {int(mask.sum())} {name}" for name, mask in special.items())
        reason = f"{count} of {baseline.size} elements not {good}{extreme}{classes}"
    return Comparison(
        output="",
        rule="",
        verdict=Verdict.DRIFT if count else Verdict.PASS,
        reason=reason,
        elements=baseline.size,
        rows=baseline.shape[0],
        differing=count,
        first=None if first is None else bits.difference_at(baseline, candidate, first),
        worst=_worst(baseline, candidate, bad, unordered, scale) if count else None,
        max_ulp=most,
        median_ulp=float(np.median(distance)) if distance.size else None,
        histogram=counts,
    )


def _worst(baseline: Array, candidate: Array, bad: Mask, unordered: Mask, scale: float | None) -> Any:
    """The worst of the differing elements: one that has no order (NaN, infinity) before the largest distance."""
    if (bad & unordered).any():
        return bits.difference_at(baseline, candidate, int(np.argmax(bad & unordered)))
    if baseline.dtype.kind == "b":
        return None
    distance: NDArray[Any]
    if scale is not None:
        distance = bits.ulp_of_at_least(baseline, candidate, scale)
    else:
        distance = bits.ulp_distance(baseline, candidate)
    return bits.difference_at(baseline, candidate, int(np.argmax(np.where(bad, distance, 0))))


def _same_set(rule: SameSet, baseline: Array, candidate: Array, context: Context) -> Comparison:
    if baseline.dtype.kind != "b" or baseline.ndim != 2:
        raise InputError(f"{rule.text} on {baseline.dtype}{list(baseline.shape)}: give a bool mask [rows, columns]")
    other = baseline != candidate
    rows = np.asarray(other.any(axis=1))
    count, total = int(rows.sum()), len(rows)
    proven = np.zeros(total, np.bool_) if context.proven is None else context.proven & rows
    unproven = int((rows & ~proven).sum())
    verdict = Verdict.PASS if unproven == 0 and total - count >= rule.floor * total else Verdict.DRIFT
    reason = f"{total} rows, the same columns in each"
    if count:
        sizes = other.sum(axis=1)[rows]
        reason = (
            f"another set of columns in {count} of {total} rows, by {sizes.min()} to {sizes.max()} columns;"
            f" {count - unproven} proven threshold crossings, {unproven} not"
        )
    return Comparison(
        output="",
        rule="",
        verdict=verdict,
        reason=reason,
        elements=baseline.size,
        rows=total,
        differing=count,
        first=bits.difference_at(baseline, candidate, int(np.argmax(other))) if count else None,
        histogram={str(int(n)): int(c) for n, c in zip(*np.unique(other.sum(axis=1), return_counts=True), strict=True)},
    )


def _agreement(rule: Agreement, baseline: Array, candidate: Array, context: Context) -> Comparison:
    if context.floor is None:
        raise InputError("agreement without a floor: give the case a Floor(raw, residual)")
    differing = rows_differ(baseline, candidate)
    equal, total = int((~differing).sum()), len(differing)
    if context.clusters is None:
        rate = rate_of(equal, total, context.floor.raw)
    else:
        rate = clustered_rate(~differing, context.clusters, context.floor.raw)
    flat = bits.differs(baseline, candidate)
    return Comparison(
        output="",
        rule="",
        verdict=rate.verdict,
        reason=sentence(rate),
        elements=baseline.size,
        rows=total,
        differing=total - equal,
        first=bits.difference_at(baseline, candidate, int(np.argmax(flat))) if equal < total else None,
        rate=rate,
    )


def rows_differ(baseline: Array, candidate: Array) -> Mask:
    """Which rows hold another value, bool[rows]."""
    return np.asarray(bits.differs(baseline, candidate).reshape(len(baseline), -1).any(axis=1))


_JUDGES: tuple[tuple[Any, Callable[[Any, Array, Array, Context], Comparison]], ...] = (
    (Bitwise, _bitwise),
    (Ulp, _ulp),
    (Tolerance, _tolerance),
    (SameSet, _same_set),
    (Agreement, _agreement),
)

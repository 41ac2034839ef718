"""One output of two sides under one rule, with evidence. Nothing here can pass without having compared something."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness import bits
from harness.agreement import clustered_rate, rate_of, sentence
from harness.case import Floor
from harness.elements import compare_elements
from harness.result import Comparison, Verdict
from harness.rules import Agreement, Ignore, Rule, SameSet

Array = NDArray[Any]
Mask = NDArray[np.bool_]


def compare(
    rule: Rule | None,
    baseline: Array | None,
    candidate: Array | None,
    floor: Floor | None = None,
    *,
    output: str = "output",
    clusters: Array | None = None,
    proven: Mask | None = None,
    today: date | None = None,
) -> Comparison:
    """Compare `candidate` with `baseline` under `rule`; None stands for a side that did not answer, or for no rule.

    `floor` and `clusters` belong to agreement, `proven` (rows, bool) to same_set; `today` judges ignore. No rule, a
    missing side, another shape or dtype: NOT_COMPARABLE. No rows or no elements: EMPTY. An `ignore` in force: EMPTY
    too, as nothing is compared; an expired one: NOT_COMPARABLE. Raises InputError where the rule itself is at fault:
    so wide that zeros would pass, made for another kind of data, agreement without a floor.
    """
    refusal = _refusal(rule, baseline, candidate, today or date.today())
    if refusal is not None:
        return Comparison(output, "none" if rule is None else rule.text, *refusal)
    assert rule is not None and not isinstance(rule, Ignore)
    assert baseline is not None and candidate is not None
    if isinstance(rule, SameSet):
        return _same_set(rule, output, baseline, candidate, proven)
    if isinstance(rule, Agreement):
        return _agreement(rule, output, baseline, candidate, floor, clusters)
    return compare_elements(rule, output, baseline, candidate)


def rows_differ(baseline: Array, candidate: Array) -> Mask:
    """Which rows hold another value, bool[rows]."""
    return np.asarray(bits.differs(baseline, candidate).reshape(len(baseline), -1).any(axis=1))


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


def _same_set(rule: SameSet, output: str, baseline: Array, candidate: Array, proven: Mask | None) -> Comparison:
    if baseline.dtype.kind != "b" or baseline.ndim != 2:
        raise InputError(f"{rule.text} on {baseline.dtype}{list(baseline.shape)}: give a bool mask [rows, columns]")
    other = bits.differs(baseline, candidate)
    columns = other.sum(axis=1)
    rows = columns > 0
    count, total = int(rows.sum()), len(rows)
    crossed = 0 if proven is None else int((rows & proven).sum())
    allowed = count == crossed and total - count >= rule.floor * total
    reason = f"{total} rows, the same columns in each"
    if count:
        extent = f"{columns[rows].min()} to {columns.max()} columns"
        reason = (
            f"another set in {count} of {total} rows, by {extent}: {crossed} proven threshold crossings,"
            f" {count - crossed} unexplained; floor {100 * rule.floor:.6g} %"
        )
    return Comparison(
        output=output,
        rule=rule.text,
        verdict=Verdict.PASS if allowed else Verdict.DRIFT,
        reason=reason,
        elements=baseline.size,
        rows=total,
        differing=count,
        first=bits.difference_at(baseline, candidate, int(np.argmax(other))) if count else None,
        histogram=bits.histogram(columns),
    )


def _agreement(
    rule: Agreement, output: str, baseline: Array, candidate: Array, floor: Floor | None, clusters: Array | None
) -> Comparison:
    if floor is None:
        raise InputError(f"{rule.text} of {output!r} without a floor: give the case a Floor(raw, residual)")
    if (rule.cluster is None) != (clusters is None):
        raise InputError(f"{rule.text} of {output!r}: cluster labels and the rule's cluster go together")
    differing = rows_differ(baseline, candidate)
    count, total = int(differing.sum()), len(differing)
    if clusters is None:
        rate = rate_of(total - count, total, floor.raw)
    else:
        rate = clustered_rate(~differing, clusters, floor.raw)
    at = int(np.argmax(bits.differs(baseline, candidate)))
    return Comparison(
        output=output,
        rule=rule.text,
        verdict=rate.verdict,
        reason=sentence(rate),
        elements=baseline.size,
        rows=total,
        differing=count,
        first=bits.difference_at(baseline, candidate, at) if count else None,
        rate=rate,
    )

"""One output of two sides under one rule, with evidence. Nothing here can pass without having compared something."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness import bits, ragged
from harness.agreement import rate_of, sentence
from harness.case import Floor
from harness.clusters import clustered_rate
from harness.elements import compare_elements
from harness.ordered import compare_ordered
from harness.result import Comparison, Difference, Verdict
from harness.rules import Agreement, Ignore, OrderedSet, Rule, SameSet

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
    key: Array | None = None,
    today: date | None = None,
) -> Comparison:
    """Compare `candidate` with `baseline` under `rule`; None stands for a side that did not answer, or for no rule.

    `floor` and `clusters` belong to agreement, `proven` (rows, bool) to same_set, `key` to ordered_set; `today` judges
    ignore. No rule, a missing side, another shape or dtype: NOT_COMPARABLE. No rows or no elements: EMPTY. An `ignore`
    in force: EMPTY too, as nothing is compared; an expired one: NOT_COMPARABLE. Raises InputError where the rule itself
    is at fault: so wide that zeros would pass, made for another kind of data, agreement without a floor.
    """
    refusal = _ruled_out(rule, baseline, candidate, today or date.today()) or _shapes(baseline, candidate)
    if refusal is not None:
        return Comparison(output, "none" if rule is None else rule.text, *refusal)
    assert rule is not None and not isinstance(rule, Ignore)
    assert baseline is not None and candidate is not None
    if isinstance(rule, SameSet):
        return _same_set(rule, output, baseline, candidate, proven)
    if isinstance(rule, OrderedSet):
        return compare_ordered(rule, output, baseline, candidate, key)
    if isinstance(rule, Agreement):
        differing = rows_differ(baseline, candidate)
        first = None
        if differing.any():
            first = bits.difference_at(baseline, candidate, int(np.argmax(bits.differs(baseline, candidate))))
        return _agreement(rule, output, baseline.size, differing, first, floor, clusters)
    return compare_elements(rule, output, baseline, candidate)


def compare_ragged(
    rule: Rule | None,
    baseline: Mapping[str, Array],
    candidate: Mapping[str, Array],
    floor: Floor | None = None,
    *,
    output: str,
    clusters: Array | None = None,
    today: date | None = None,
) -> Comparison:
    """Compare rows of unequal length, `output` and its lengths on either side, as `compare` does.

    Under agreement a row is equal where its length and every entry are. Else see harness.ragged.compare_entries.
    """
    a, b = ragged.read_rows(output, baseline), ragged.read_rows(output, candidate)
    refusal = _ruled_out(rule, baseline.get(output), candidate.get(output), today or date.today())
    refusal = refusal or ragged.refusal(a, b)
    if refusal is not None:
        return Comparison(output, "none" if rule is None else rule.text, *refusal)
    assert rule is not None and not isinstance(a, str) and not isinstance(b, str)
    if isinstance(rule, Agreement):
        entries = int(np.maximum(a.lengths, b.lengths).sum())
        first = ragged.first_difference(a, b)
        return _agreement(rule, output, entries, ragged.rows_differ(a, b), first, floor, clusters)
    return ragged.compare_entries(rule, output, a, b)


def rows_differ(baseline: Array, candidate: Array) -> Mask:
    """Which rows hold another value, bool[rows]."""
    return np.asarray(bits.differs(baseline, candidate).reshape(len(baseline), -1).any(axis=1))


def _ruled_out(
    rule: Rule | None, baseline: Array | None, candidate: Array | None, today: date
) -> tuple[Verdict, str] | None:
    """Why nothing is compared whatever the arrays hold, or None."""
    if isinstance(rule, Ignore):
        if rule.expired(today):
            return Verdict.NOT_COMPARABLE, f"the ignore rule expired on {rule.expires}: give the output a rule"
        return Verdict.EMPTY, f"ignored until {rule.expires}: {rule.reason}"
    if baseline is None or candidate is None:
        sides = [name for name, side in (("baseline", baseline), ("candidate", candidate)) if side is None]
        return Verdict.NOT_COMPARABLE, f"missing in the {' and in the '.join(sides)}"
    if rule is None:
        return Verdict.NOT_COMPARABLE, "answered, but the case has no rule for it"
    return None


def _shapes(baseline: Array | None, candidate: Array | None) -> tuple[Verdict, str] | None:
    """Why two arrays cannot be compared, or None."""
    assert baseline is not None and candidate is not None
    if baseline.shape != candidate.shape:
        told = f"shape {baseline.shape} in the baseline, {candidate.shape} in the candidate"
        return Verdict.NOT_COMPARABLE, told + _shared_start(baseline, candidate)
    if baseline.dtype != candidate.dtype:
        return Verdict.NOT_COMPARABLE, f"dtype {baseline.dtype} in the baseline, {candidate.dtype} in the candidate"
    if not bits.comparable(baseline.dtype):
        return Verdict.NOT_COMPARABLE, f"dtype {baseline.dtype} has no comparable bits"
    if baseline.ndim == 0:
        return Verdict.NOT_COMPARABLE, "a scalar: give arrays with one entry a row"
    if baseline.size == 0:
        return Verdict.EMPTY, f"nothing to compare: shape {baseline.shape}"
    return None


def _shared_start(baseline: Array, candidate: Array) -> str:
    """For two flat lists of unequal length, how far they are equal."""
    if baseline.ndim != 1 or candidate.ndim != 1 or baseline.dtype != candidate.dtype:
        return ""
    if not bits.comparable(baseline.dtype):
        return ""
    shared = min(len(baseline), len(candidate))
    other = np.flatnonzero(bits.differs(baseline[:shared], candidate[:shared]))
    return f": the first {other[0] if len(other) else shared} entries are equal"


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
    rule: Agreement,
    output: str,
    elements: int,
    differing: Mask,
    first: Difference | None,
    floor: Floor | None,
    clusters: Array | None,
) -> Comparison:
    if floor is None:
        raise InputError(f"{rule.text} of {output!r} without a floor: give the case a Floor(raw, residual)")
    if (rule.cluster is None) != (clusters is None):
        raise InputError(f"{rule.text} of {output!r}: cluster labels and the rule's cluster go together")
    count, total = int(differing.sum()), len(differing)
    if clusters is None:
        rate = rate_of(total - count, total, floor.raw)
    else:
        rate = clustered_rate(~differing, clusters, floor.raw)
    return Comparison(
        output=output,
        rule=rule.text,
        verdict=rate.verdict,
        reason=sentence(rate),
        elements=elements,
        rows=total,
        differing=count,
        first=first,
        rate=rate,
    )

"""Rows of unequal length: an output NAME with its NAME.lengths, compared without ever cutting the longer side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness import bits
from harness.elements import compare_elements
from harness.nested import LENGTHS
from harness.result import Comparison, Difference, Verdict
from harness.rules import Bitwise, Rule, Tolerance, Ulp

Array = NDArray[Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """One side: values [rows, width] and how many of each row count, int64[rows]."""

    values: Array
    lengths: NDArray[np.int64]

    @property
    def present(self) -> Mask:
        return np.asarray(np.arange(self.values.shape[1]) < self.lengths[:, None])


def is_ragged(name: str, rules: Mapping[str, Rule], *sides: Mapping[str, Array]) -> bool:
    """Whether either side gives lengths for the rows of `name` that have no rule of their own."""
    return name + LENGTHS not in rules and any(name + LENGTHS in side for side in sides)


def read_rows(name: str, side: Mapping[str, Array]) -> Rows | str:
    """The rows of one side, or what is wrong with them."""
    values, lengths = side.get(name), side.get(name + LENGTHS)
    if values is None or lengths is None:
        return f"no {name + LENGTHS if lengths is None else name}"
    if values.ndim != 2 or lengths.shape != values.shape[:1] or lengths.dtype.kind not in "iu":
        shapes = f"{values.dtype}{list(values.shape)} with lengths {lengths.dtype}{list(lengths.shape)}"
        return f"{shapes}, not [rows, longest] and integers [rows]"
    if ((lengths < 0) | (lengths > values.shape[1])).any():
        return f"a length outside 0 to {values.shape[1]}"
    return Rows(values, lengths.astype(np.int64))


def refusal(baseline: Rows | str, candidate: Rows | str) -> tuple[Verdict, str] | None:
    """Why the two sides cannot be compared row by row, or None."""
    for side, rows in (("baseline", baseline), ("candidate", candidate)):
        if isinstance(rows, str):
            return Verdict.NOT_COMPARABLE, f"the {side} has {rows}"
    assert isinstance(baseline, Rows) and isinstance(candidate, Rows)
    if len(baseline.values) != len(candidate.values):
        counts = f"{len(baseline.values)} rows in the baseline, {len(candidate.values)} in the candidate"
        return Verdict.NOT_COMPARABLE, counts
    if baseline.values.dtype != candidate.values.dtype:
        dtypes = f"{baseline.values.dtype} in the baseline, {candidate.values.dtype} in the candidate"
        return Verdict.NOT_COMPARABLE, f"dtype {dtypes}"
    if not bits.comparable(baseline.values.dtype):
        return Verdict.NOT_COMPARABLE, f"dtype {baseline.values.dtype} has no comparable bits"
    if not (baseline.lengths.any() or candidate.lengths.any()):
        return Verdict.EMPTY, "nothing to compare: every row is empty"
    return None


def widened(baseline: Rows, candidate: Rows) -> tuple[Rows, Rows]:
    """Both sides at the width of the longest row, zeros where a row has no entry."""
    width = int(max(baseline.lengths.max(), candidate.lengths.max()))
    return _at_width(baseline, width), _at_width(candidate, width)


def _at_width(rows: Rows, width: int) -> Rows:
    values = np.zeros((len(rows.values), width), rows.values.dtype)
    shared = min(width, rows.values.shape[1])
    values[:, :shared] = rows.values[:, :shared]
    values[~Rows(values, rows.lengths).present] = 0
    return Rows(values, rows.lengths)


def rows_differ(baseline: Rows, candidate: Rows) -> Mask:
    """Which rows have another length or another entry, bool[rows]."""
    a, b = widened(baseline, candidate)
    return np.asarray(bits.differs(a.values, b.values).any(axis=1) | (a.lengths != b.lengths))


def first_difference(baseline: Rows, candidate: Rows) -> Difference | None:
    """The first entry of the first row that differs; where one side has ended, it has no entry there."""
    a, b = widened(baseline, candidate)
    other = bits.differs(a.values, b.values) | (a.present != b.present)
    if not other.any():
        return None
    at = int(np.argmax(other))
    found = bits.difference_at(a.values, b.values, at)
    row, place = found.index
    ended: dict[str, Any] = {"ulp": None}
    for side, rows in (("baseline", a), ("candidate", b)):
        if place >= rows.lengths[row]:
            ended |= {side: "no entry", f"{side}_bits": "-"}
    return found if len(ended) == 1 else replace(found, **ended)


def compare_entries(rule: Rule, output: str, baseline: Rows, candidate: Rows) -> Comparison:
    """Compare entry by entry. Another length is drift under bitwise and NOT_COMPARABLE under ulp and tolerance.

    Raises InputError for rules that are no element's; agreement is counted from `rows_differ`.
    """
    if not isinstance(rule, (Bitwise, Ulp, Tolerance)):
        raise InputError(f"{rule.text} on rows of unequal length: give agreement, bitwise, ulp or tolerance")
    a, b = widened(baseline, candidate)
    uneven = np.flatnonzero(a.lengths != b.lengths)
    if len(uneven):
        return _uneven(rule, output, a, b, uneven)
    found = compare_elements(rule, output, a.values[a.present], b.values[b.present])
    where = np.argwhere(a.present)
    moved: dict[str, Any] = {
        name: replace(one, index=tuple(int(i) for i in where[one.index[0]]))
        for name, one in (("first", found.first), ("worst", found.worst))
        if one is not None
    }
    return replace(found, rows=len(a.values), **moved)


def _uneven(rule: Rule, output: str, a: Rows, b: Rows, uneven: NDArray[np.int64]) -> Comparison:
    row = int(uneven[0])
    told = f"another length in {len(uneven)} of {len(a.lengths)} rows, first in row {row}: {length_text(a, b, row)}"
    if not isinstance(rule, Bitwise):
        return Comparison(output, rule.text, Verdict.NOT_COMPARABLE, told)
    other = bits.differs(a.values, b.values) | (a.present != b.present)
    return Comparison(
        output=output,
        rule=rule.text,
        verdict=Verdict.DRIFT,
        reason=told,
        elements=int((a.present | b.present).sum()),
        rows=len(a.values),
        differing=int(other.sum()),
        first=first_difference(a, b),
    )


def length_text(a: Rows, b: Rows, row: int) -> str:
    """`17 entries against 15, the first 12 equal`."""
    shared = int(min(a.lengths[row], b.lengths[row]))
    other = np.flatnonzero(bits.differs(a.values[row, :shared], b.values[row, :shared]))
    equal = int(other[0]) if len(other) else shared
    return f"{a.lengths[row]} entries against {b.lengths[row]}, the first {equal} equal"

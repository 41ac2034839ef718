"""Lists of ids a row, in order: which places hold another id, and which of those are swaps among exact ties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness import bits
from harness.result import Comparison, Verdict
from harness.rules import OrderedSet

Array = NDArray[Any]
Mask = NDArray[np.bool_]


def compare_ordered(rule: OrderedSet, output: str, baseline: Array, candidate: Array, key: Array | None) -> Comparison:
    """Compare two lists [rows, k] of one shape and dtype. `key` is the array that the rule names.

    Raises InputError where the lists are not integers in rows, or where the key is missing or does not fit them.
    `differing` counts rows; the histogram is of refused places a row.
    """
    if baseline.dtype.kind not in "iu" or baseline.ndim != 2:
        raise InputError(f"{rule.text} on {baseline.dtype}{list(baseline.shape)}: give integer ids [rows, k]")
    _check_key(rule, output, baseline, key)
    moved = bits.differs(baseline, candidate)
    tied = np.zeros_like(moved) if key is None else moved & _tied(rule, baseline, candidate, key)
    refused = moved if rule.ties == "strict" else moved & ~tied
    places = refused.sum(axis=1)
    count, rows = int((places > 0).sum()), len(places)
    return Comparison(
        output=output,
        rule=rule.text,
        verdict=Verdict.DRIFT if count else Verdict.PASS,
        reason=_reason(rows, baseline.shape[1], moved, tied, refused),
        elements=baseline.size,
        rows=rows,
        differing=count,
        first=bits.difference_at(baseline, candidate, int(np.argmax(refused))) if count else None,
        histogram=bits.histogram(places),
    )


def _check_key(rule: OrderedSet, output: str, baseline: Array, key: Array | None) -> None:
    if rule.key is None:
        return
    if key is None:
        raise InputError(f"{rule.text} of {output!r}: there is no input and no output {rule.key!r} to order by")
    fits = key.shape == baseline.shape if rule.by == "position" else key.ndim == 2 and len(key) == len(baseline)
    if not fits or key.dtype.kind == "b" or not bits.comparable(key.dtype):
        wanted = "[rows, k] beside the list" if rule.by == "position" else "[rows, columns]"
        raise InputError(f"{rule.text} of {output!r}: {rule.key!r} is {key.dtype}{list(key.shape)}: give {wanted}")


def _tied(rule: OrderedSet, baseline: Array, candidate: Array, key: Array) -> Mask:
    """Where the candidate's id has exactly the key of the baseline's, and stands only once."""
    if rule.by == "id":
        here, known = _keys_by_id(key, baseline)
        there, also = _keys_by_id(key, candidate)
        tied = known & also & (here == there)
    else:
        at, found = _places(baseline, candidate)
        usable = ~_is_nan(key)
        tied = found & usable & np.take_along_axis(usable, at, 1)
        tied &= bits.keys(key) == np.take_along_axis(bits.keys(key), at, 1)
    return np.asarray(tied & ~_repeated(baseline, candidate))


def _keys_by_id(key: Array, ids: Array) -> tuple[NDArray[np.uint64], Mask]:
    """The monotone integer of every id's key, and whether the id is a column whose key is a number."""
    columns = key.shape[1]
    known = (ids >= 0) & (ids < columns)
    values = np.take_along_axis(key, np.where(known, ids, 0).astype(np.int64), 1)
    return bits.keys(values), np.asarray(known & ~_is_nan(values))


def _is_nan(values: Array) -> Mask:
    if values.dtype.kind in "iu":
        return np.zeros(values.shape, np.bool_)
    with np.errstate(invalid="ignore"):  # a signalling NaN raises even when it is only read
        return np.isnan(values.astype(np.float64))


def _codes(baseline: Array, candidate: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every (row, id) of both lists as a number of its own."""
    ids, code = np.unique(np.stack([baseline, candidate]), return_inverse=True)
    code = code.reshape(2, *baseline.shape).astype(np.int64)
    code += np.arange(len(baseline), dtype=np.int64)[:, None] * len(ids)
    return code[0], code[1]


def _places(baseline: Array, candidate: Array) -> tuple[NDArray[np.int64], Mask]:
    """Where in the baseline's list each id of the candidate stands, int64[rows, k], and whether it does."""
    ours, theirs = _codes(baseline, candidate)
    order = np.argsort(ours, axis=None, kind="stable")
    ranked = ours.reshape(-1)[order]
    at = np.minimum(np.searchsorted(ranked, theirs), ours.size - 1)
    return order[at] % ours.shape[1], np.asarray(ranked[at] == theirs)


def _repeated(baseline: Array, candidate: Array) -> Mask:
    """Where the candidate's id stands in its list more than once, and more often than in the baseline's."""
    ours, theirs = _codes(baseline, candidate)
    names, member, count = np.unique(theirs, return_inverse=True, return_counts=True)
    known, before = np.unique(ours, return_counts=True)
    at = np.minimum(np.searchsorted(known, names), len(known) - 1)
    allowed = np.maximum(np.where(known[at] == names, before[at], 0), 1)
    return np.asarray((count > allowed)[member].reshape(theirs.shape))


def _reason(rows: int, k: int, moved: Mask, tied: Mask, refused: Mask) -> str:
    swapped, bad = (tied & ~refused).any(axis=1), refused.any(axis=1)
    if not bad.any():
        same = f"{rows} lists of {k} ids, in the same order"
        if not tied.any():
            return same
        return f"{same}, {int(tied.sum())} places swapped among exact ties in {int(swapped.sum())} rows"
    row, place = np.unravel_index(int(np.argmax(refused)), refused.shape)
    only_ties = int((moved.any(axis=1) & ~(moved & ~tied).any(axis=1) & bad).sum())
    ties = f"; in {only_ties} of them nothing but exact ties is swapped (tie-breaking)" if only_ties else ""
    return f"another order or member in {int(bad.sum())} of {rows} lists, first in row {row} at place {place}{ties}"

"""Every token that FlashInfer's samplers could return while each sum is within a relative error of the true one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from repro.streams.samplers.rejection import Limits

F64 = NDArray[np.float64]
MAX_PATHS = 64


def tokens_possible(row: F64, uniform: Callable[[int], np.float32], limits: Limits, error: float) -> set[int]:
    """Tokens of every way through the search: `row` float64[V] probabilities, each within `error` of the engine's, as
    are all sums of them. All columns of positive probability when there are more ways than MAX_PATHS."""
    if limits.min_p is not None:
        edge = float(limits.min_p) * row.max()
        inside, doubtful = row >= edge, np.abs(row - edge) <= 2 * error * edge
        total = row[inside].sum()
        slack = error + row[doubtful].sum() / total
        return set(_hits(row, inside | doubtful, float(uniform(0)) * total, slack))
    found: set[int] = set()
    pending = [(0.0, 1.0, 1.0, 0)]
    steps = 0
    while pending:
        steps += 1
        if steps > MAX_PATHS:
            return set(np.flatnonzero(row > 0).tolist())
        low, high, scale, turn = pending.pop()
        for token in _hits(row, row > low, float(uniform(turn)) * scale, error if scale == 1 else 2 * error):
            if limits == Limits():
                found.add(token)
                continue
            accepted, onward = _next(row, token, low, high, limits, error)
            if accepted:
                found.add(token)
            for next_low, next_high, next_scale in onward:
                if next_low < next_high:
                    pending.append((next_low, next_high, next_scale, turn + 1))
                else:
                    found.add(token)
    return found


def _hits(row: F64, inside: NDArray[np.bool_], target: float, error: float) -> Iterator[int]:
    """Columns whose interval of the running sum could hold the target; the last column where the sum may fall short.

    A running sum of positive numbers is off by `error` times itself, the target by one rounding."""
    masked = np.where(inside, row, 0.0)
    upper = np.cumsum(masked)
    slack = error * upper + 2.0**-24 * target
    hit = np.flatnonzero(inside & (upper - masked <= target + slack) & (upper >= target - slack)).tolist()
    if not hit or upper[-1] <= target + slack[-1]:
        last = int(np.flatnonzero(inside)[-1])
        hit = [*hit, last] if last not in hit else hit
    return iter(hit)


def _next(
    row: F64, token: int, low: float, high: float, limits: Limits, error: float
) -> tuple[bool, list[tuple[float, float, float]]]:
    """Whether the drawn column may be accepted, and the search's states that may follow."""
    first = float(row[token])
    second = (first + high) / 2
    may, must = _admits(row, first, limits, error)
    onward: list[tuple[float, float, float]] = []
    if not must:
        may_second, must_second = _admits(row, second, limits, error)
        if may_second:
            onward.append((first, second, float(row[row > first].sum())))
        if not must_second:
            onward.append((second, high, float(row[row > second].sum())))
    return may, onward


def _admits(row: F64, pivot: float, limits: Limits, error: float) -> tuple[bool, bool]:
    """(may, must) a pivot be admitted, ties of its own value aside."""
    near = (np.abs(row - pivot) <= 2 * error * pivot) & (row != pivot)
    above = row > pivot
    least, most = above & ~near, above | near
    may = must = True
    if limits.top_k is not None:
        may, must = int(least.sum()) < limits.top_k, int(most.sum()) < limits.top_k
    if limits.top_p is not None:
        limit = float(limits.top_p)
        slack = error * limit + 2.0**-25
        may = may and float(row[least].sum()) < limit + slack
        must = must and float(row[most].sum()) < limit - slack
    return may, must

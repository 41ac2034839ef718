"""Rows until a rate is decided: bounds that hold at every look, however often one looks.

The exact bounds of a fixed number of rows may be looked at once: at every 100 of 10,000 rows, they call a rate that is
the floor drift in 30 of 100 runs. Here the likelihood of the rows under a uniform mixture of rates is held against
their likelihood under one rate; by Ville's inequality the quotient exceeds 1 / ALPHA at any look, ever, with
probability at most ALPHA where that rate is the true one. The rates for which it does not are the interval.

Rows need not have one rate: in blocks of rows of different rates whose mean is the floor, the expected quotient at the
end of a block is at most that of equal rates (arithmetic and geometric mean), so the bound holds there as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from scipy.special import betaln

from harness.agreement import check_counts, is_rate, judge, judge_bounds
from harness.case import Case
from harness.explanation import rejudged
from harness.rejudge import drawn_of, with_drawn
from harness.result import CaseResult, Rate, Verdict

ALPHA = 0.01
"""Probability that the interval ever misses the true rate, over all looks and both ends."""
STEPS = 60
"""Bisections of a bound."""


def log_quotient(equal: float, rows: float, rate: float) -> float:
    """The logarithm of the mixture's likelihood over that of `rate` in (0, 1)."""
    return float(betaln(equal + 1, rows - equal + 1) - equal * math.log(rate) - (rows - equal) * math.log1p(-rate))


def bounds(equal: int, rows: int, alpha: float = ALPHA) -> tuple[float, float]:
    """The lowest and the highest rate that these rows leave open at every look."""
    limit, middle = -math.log(alpha), equal / rows
    return _edge(equal, rows, limit, 0.0, middle), _edge(equal, rows, limit, 1.0, middle)


def sequential_rate(equal: int, rows: int, floor: float | None, looks: int) -> Rate:
    """The rate with its bounds at the last of `looks` looks; a floor of 1 stays a claim about these rows."""
    check_counts(equal, rows, floor)
    low, high = bounds(equal, rows)
    verdict, chance, needed = judge(equal, rows, floor), None, None
    if floor is not None and is_rate(floor):
        verdict = judge_bounds(low, high, floor)
        chance = 1.0 if equal >= floor * rows else min(1.0, math.exp(-log_quotient(equal, rows, floor)))
        needed = _rows_needed(equal, rows, floor) if verdict is Verdict.INCONCLUSIVE else None
    return Rate(equal, rows, low, (low, high), floor, verdict, rows_needed=needed, p_drift=chance, looks=looks)


def until_decided(case: Case, first: CaseResult, again: Callable[[Case], CaseResult], most_rows: int) -> CaseResult:
    """Double the rows of `case` until its rates are decided, or more than `most_rows` would be needed.

    `first` is the result of the case itself, the first look; `again` runs the case with more rows, the earlier ones
    first. A case that cannot grow is looked at once and keeps its exact bounds.
    """
    if case.grow is None:
        return first
    blocks, looks, found = 1, 1, _look(first, 1)
    rows = _rows(found)
    while found.verdict is Verdict.INCONCLUSIVE and 0 < 2 * blocks * rows <= most_rows:
        blocks, looks = 2 * blocks, looks + 1
        found = _look(again(replace(case, inputs=partial(case.grow, blocks))), looks)
    return found


def _look(case: CaseResult, looks: int) -> CaseResult:
    """The case by the bounds of this look."""
    drawn = drawn_of(case)
    if drawn is None:
        return case
    assert drawn.rate is not None and drawn.attribution is not None
    rate, residual = (
        sequential_rate(one.equal, one.rows, one.floor, looks) for one in (drawn.rate, drawn.attribution.residual)
    )
    return with_drawn(case, rejudged(drawn, rate, residual))


def _rows(case: CaseResult) -> int:
    drawn = drawn_of(case)
    return 0 if drawn is None else drawn.rows


def _edge(equal: int, rows: int, limit: float, outer: float, inner: float) -> float:
    """Where the quotient crosses `limit` between the end `outer` and the measured rate `inner`, on the outer side."""
    if inner == outer:
        return outer
    for _ in range(STEPS):
        middle = (outer + inner) / 2
        if log_quotient(equal, rows, middle) >= limit:
            outer = middle
        else:
            inner = middle
    return outer


def _rows_needed(equal: int, rows: int, floor: float) -> int | None:
    """About how many rows of the measured rate would decide; None where it is the floor itself."""
    rate, limit = equal / rows, -math.log(ALPHA)
    low = high = rows
    while log_quotient(rate * high, high, floor) < limit:
        low, high = high, 2 * high
        if high > 2**40:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_quotient(rate * middle, middle, floor) >= limit else (middle, high)
    return high

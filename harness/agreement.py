"""The statistics of an agreement rate: exact bounds that gate, an interval that is shown, three verdicts.

A rate k / n passes a floor when the exact one-sided 95 % Clopper-Pearson lower bound reaches it, drifts when the upper
bound is below it, and is inconclusive in between, with the rows that would decide. A floor of exactly 1 is a claim
about these rows, not about a rate: every row equal passes, anything else drifts.
"""

from __future__ import annotations

import math

from scipy import special, stats

from deepinfer.errors import InputError
from harness.result import Predicted, Rate, Verdict

ALPHA = 0.05
"""One-sided error of each bound."""
POWER = 0.9
"""Chance with which a drop called visible is found to be drift."""


def lower_bound(equal: float, rows: float, alpha: float = ALPHA) -> float:
    """Exact one-sided lower bound of the rate; a count may be fractional when planning."""
    return float(special.betaincinv(equal, rows - equal + 1, alpha)) if equal > 0 else 0.0


def upper_bound(equal: float, rows: float, alpha: float = ALPHA) -> float:
    """Exact one-sided upper bound of the rate."""
    return float(special.betaincinv(equal + 1, rows - equal, 1 - alpha)) if equal < rows else 1.0


def p_at_most(equal: float, rows: float, floor: float) -> float:
    """The chance of at most this agreement where the true rate is `floor`: below ALPHA exactly where the upper bound is
    below the floor."""
    return float(stats.beta.sf(floor, equal + 1, rows - equal)) if equal < rows else 1.0


def judge(equal: int, rows: int, floor: float | None) -> Verdict:
    """PASS, DRIFT or INCONCLUSIVE of k / n against a floor; without a floor a rate is only reported: PASS."""
    if floor is None:
        return Verdict.PASS
    if floor == 1:
        return Verdict.PASS if equal == rows else Verdict.DRIFT
    return judge_bounds(lower_bound(equal, rows), upper_bound(equal, rows), floor)


def judge_bounds(lower: float, upper: float, floor: float) -> Verdict:
    """The verdict of a rate between two bounds against a floor below 1."""
    if lower >= floor:
        return Verdict.PASS
    return Verdict.DRIFT if upper < floor else Verdict.INCONCLUSIVE


def is_rate(floor: float | None) -> bool:
    """Whether a floor is a statement about a rate: one of 1 is about the rows compared, one of 0 says nothing."""
    return floor is not None and 0 < floor < 1


def rate_of(equal: int, rows: int, floor: float | None = None) -> Rate:
    """The rate with its bounds, verdict, smallest visible drop, and rows needed where it is inconclusive."""
    check_counts(equal, rows, floor)
    verdict = judge(equal, rows, floor)
    interval = stats.binomtest(equal, rows).proportion_ci(0.95, method="wilson")
    return Rate(
        equal=equal,
        rows=rows,
        lower=lower_bound(equal, rows),
        wilson=(float(interval.low), float(interval.high)),
        floor=floor,
        verdict=verdict,
        visible_drop=visible_drop(rows, equal / rows if floor is None else floor),
        rows_needed=rows_needed(equal, rows, floor) if floor is not None and verdict is Verdict.INCONCLUSIVE else None,
        p_drift=p_at_most(equal, rows, floor) if floor is not None and is_rate(floor) else None,
    )


def visible_drop(rows: int, floor: float, power: float = POWER, alpha: float = ALPHA) -> float | None:
    """The smallest drop below `floor` that this many rows call drift with probability `power`; None: no drop at all."""
    if floor == 1:
        return float(1 - (1 - power) ** (1 / rows))
    most = int(stats.binom.ppf(alpha, rows, floor))
    while most >= 0 and stats.binom.cdf(most, rows, floor) >= alpha:
        most -= 1
    if most < 0:
        return None
    return float(floor - stats.beta.ppf(1 - power, most + 1, rows - most))


def rows_needed(equal: int, rows: int, floor: float) -> int | None:
    """About how many rows of the measured rate would decide against `floor`; None when the rate is the floor itself."""
    rate = equal / rows
    if rate == floor:
        return None

    def decided(n: int) -> bool:
        return lower_bound(rate * n, n) >= floor if rate > floor else upper_bound(rate * n, n) < floor

    high = rows
    while not decided(high):
        if high > 2**40:
            return None
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high


def sentence(rate: Rate, predicted: Predicted | None = None, *, what: str = "agreement") -> str:
    """The one wording of a rate, in every report."""
    shown, gating = "95 % Wilson", "one-sided exact lower"
    if rate.looks is not None:
        shown, gating = f"99 % at each of {rate.looks} looks", "its lower end"
    elif rate.clusters is not None:
        shown, gating = f"95 % over {rate.clusters} clusters", "one-sided lower"
    parts = [
        f"{what} {rate.equal}/{rate.rows} = {percent(rate.rate)} %"
        f" ({shown} {percent(rate.wilson[0])}-{percent(rate.wilson[1])}; {gating} {percent(rate.lower)})"
    ]
    if predicted is not None:
        parts.append(f"predicted {percent(predicted.rate)}" + ("" if predicted.inside else " (outside its interval)"))
    if rate.floor is not None:
        needed = f", about {rate.rows_needed} rows needed" if rate.rows_needed is not None else ""
        parts.append(f"floor {100 * rate.floor:.6g} %: {rate.verdict.value}{needed}")
    if rate.visible_drop is not None:
        parts.append(f"this run could have seen a drop of {percent(rate.visible_drop)} points")
    return "; ".join(parts)


def percent(share: float) -> str:
    """A share in percent with one decimal, with more where one would round it to 100."""
    for decimals in (1, 2, 3, 4):
        text = f"{100 * share:.{decimals}f}"
        if share >= 1 or float(text) < 100:
            return text
    return f"{math.floor(100 * share * 10**4) / 10**4:.4f}"


def check_counts(equal: int, rows: int, floor: float | None) -> None:
    """Raise InputError for counts or a floor that no rate has."""
    if rows < 1 or not 0 <= equal <= rows:
        raise InputError(f"agreement of {equal} in {rows} rows: give at least one row and a count within it")
    if floor is not None and not 0 <= floor <= 1:
        raise InputError(f"agreement floor {floor!r}: give a share in [0, 1], such as 0.88")

"""The statistics of an agreement rate: exact bounds that gate, an interval that is shown, three verdicts.

A rate k / n passes a floor when the exact one-sided 95 % Clopper-Pearson lower bound reaches it, drifts when the upper
bound is below it, and is inconclusive in between, with the rows that would decide. A floor of exactly 1 is a claim
about these rows, not about a rate: every row equal passes, anything else drifts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deepinfer.errors import InputError
from harness.result import Predicted, Rate, Verdict

ALPHA = 0.05
"""One-sided error of each bound."""
POWER = 0.9
"""Chance with which a drop called visible is found to be drift."""


def lower_bound(equal: float, rows: float) -> float:
    """Exact one-sided 95 % lower bound of the rate; a count may be fractional when planning."""
    return float(stats.beta.ppf(ALPHA, equal, rows - equal + 1)) if equal > 0 else 0.0


def upper_bound(equal: float, rows: float) -> float:
    """Exact one-sided 95 % upper bound of the rate."""
    return float(stats.beta.ppf(1 - ALPHA, equal + 1, rows - equal)) if equal < rows else 1.0


def judge(equal: int, rows: int, floor: float | None) -> Verdict:
    """PASS, DRIFT or INCONCLUSIVE of k / n against a floor; without a floor a rate is only reported: PASS."""
    if floor is None:
        return Verdict.PASS
    if floor == 1:
        return Verdict.PASS if equal == rows else Verdict.DRIFT
    if lower_bound(equal, rows) >= floor:
        return Verdict.PASS
    return Verdict.DRIFT if upper_bound(equal, rows) < floor else Verdict.INCONCLUSIVE


def rate_of(equal: int, rows: int, floor: float | None = None) -> Rate:
    """The rate with its bounds, verdict, smallest visible drop, and rows needed where it is inconclusive."""
    _check(equal, rows, floor)
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
    )


def clustered_rate(equal_rows: NDArray[np.bool_], clusters: NDArray[Any], floor: float | None = None) -> Rate:
    """The rate of rows that are not independent: percentile bootstrap over whole clusters, fixed resamples.

    The bounds are never tighter than those of independent rows; where no cluster differs from another in its rate the
    bootstrap has nothing to resample, and each cluster counts as one row. `visible_drop` and `rows_needed` would
    need a model of the dependence and are None. Raises InputError for fewer than two clusters.
    """
    equal, rows = int(equal_rows.sum()), len(equal_rows)
    _check(equal, rows, floor)
    names, member = np.unique(clusters, return_inverse=True)
    if clusters.shape != equal_rows.shape or len(names) < 2:
        raise InputError(f"{len(names)} cluster(s) for {rows} rows: give one label a row and at least two clusters")
    size = np.bincount(member).astype(np.float64)
    hits = np.bincount(member, weights=equal_rows)
    if np.ptp(hits / size) == 0:
        share = equal / rows * len(names)
        low, high = lower_bound(share, len(names)), upper_bound(share, len(names))
        shown = (
            stats.beta.ppf(0.025, share, len(names) - share + 1) if equal else 0.0,
            stats.beta.ppf(0.975, share + 1, len(names) - share) if equal < rows else 1.0,
        )
    else:
        resampled = stats.bootstrap(
            (hits, size),
            lambda hits, size, axis: hits.sum(axis=axis) / size.sum(axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=9999,
            method="percentile",
            rng=np.random.default_rng(0),
        ).bootstrap_distribution
        low = min(float(np.quantile(resampled, ALPHA)), lower_bound(equal, rows))
        high = max(float(np.quantile(resampled, 1 - ALPHA)), upper_bound(equal, rows))
        shown = float(np.quantile(resampled, 0.025)), float(np.quantile(resampled, 0.975))
    verdict = judge(equal, rows, floor)
    if floor is not None and floor < 1:
        verdict = Verdict.PASS if low >= floor else Verdict.DRIFT if high < floor else Verdict.INCONCLUSIVE
    return Rate(equal, rows, low, (float(shown[0]), float(shown[1])), floor, verdict, clusters=len(names))


def visible_drop(rows: int, floor: float) -> float | None:
    """The smallest drop below `floor` that this many rows call drift with probability POWER; None: no drop at all."""
    if floor == 1:
        return float(1 - (1 - POWER) ** (1 / rows))
    most = int(stats.binom.ppf(ALPHA, rows, floor))
    while most >= 0 and stats.binom.cdf(most, rows, floor) >= ALPHA:
        most -= 1
    if most < 0:
        return None
    return float(floor - stats.beta.ppf(1 - POWER, most + 1, rows - most))


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
    if rate.clusters is not None:
        shown, gating = f"95 % bootstrap over {rate.clusters} clusters", "one-sided lower"
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


def _check(equal: int, rows: int, floor: float | None) -> None:
    if rows < 1 or not 0 <= equal <= rows:
        raise InputError(f"agreement of {equal} in {rows} rows: give at least one row and a count within it")
    if floor is not None and not 0 <= floor <= 1:
        raise InputError(f"agreement floor {floor!r}: give a share in [0, 1], such as 0.88")

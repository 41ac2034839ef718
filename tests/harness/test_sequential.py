"""Bounds at every look: what they are, what they cover, what peeking without them does, and rows until a decision."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from deepinfer.errors import InputError
from harness.agreement import judge, sentence, upper_bound
from harness.case import Case, Floor, Outputs
from harness.explanation import Mask
from harness.result import Attribution, CaseResult, Rate, Verdict
from harness.rules import agreement
from harness.runner import run_case
from harness.sequential import ALPHA, bounds, log_quotient, sequential_rate, until_decided

BLOCK = 100


@pytest.mark.parametrize(("equal", "rows", "rate"), [(0, 1, 0.5), (7, 9, 0.4), (20, 20, 0.9), (45, 60, 0.8)])
def test_the_quotient_is_the_integral(equal: int, rows: int, rate: float) -> None:
    mixed, _ = integrate.quad(lambda q: q**equal * (1 - q) ** (rows - equal), 0, 1)
    alone = rate**equal * (1 - rate) ** (rows - equal)
    assert log_quotient(equal, rows, rate) == pytest.approx(math.log(mixed / alone), abs=1e-6)


@pytest.mark.parametrize(("equal", "rows"), [(0, 10), (10, 10), (5, 10), (900, 1000), (1, 4000)])
def test_the_bounds_are_where_the_quotient_crosses(equal: int, rows: int) -> None:
    low, high = bounds(equal, rows)
    assert low <= equal / rows <= high
    for bound, inward in ((low, 1e-9), (high, -1e-9)):
        if 0 < bound < 1:
            assert log_quotient(equal, rows, bound) >= -math.log(ALPHA) - 1e-6
            assert log_quotient(equal, rows, bound + inward) < -math.log(ALPHA)
    assert (low == 0) == (equal == 0)
    assert (high == 1) == (equal == rows)


def test_bounds_at_every_look_are_wider_than_exact_ones_and_close_in() -> None:
    widths = [bounds(9 * n, 10 * n)[1] - bounds(9 * n, 10 * n)[0] for n in (10, 100, 1000, 10000)]
    assert widths == sorted(widths, reverse=True)
    assert bounds(9000, 10000)[1] > upper_bound(9000, 10000)
    assert widths[-1] < 0.03


def test_peeking_raises_false_alarms_and_these_bounds_do_not(generator: np.random.Generator) -> None:
    """A true rate equal to the floor, looked at every 100 of 5,000 rows, 1,000 times."""
    floor, looks = 0.9, np.arange(100, 5001, 100)
    equal = generator.binomial(100, floor, (1000, len(looks))).cumsum(axis=1)

    def alarms(drifts: Callable[[int, int], bool]) -> float:
        edges = [bisect_left(range(n + 1), True, key=lambda k, n=n: not drifts(k, n)) - 1 for n in looks.tolist()]
        return float((equal <= edges).any(axis=1).mean())

    assert alarms(lambda k, n: judge(k, n, floor) is Verdict.DRIFT) > 0.15
    assert alarms(lambda k, n: sequential_rate(k, n, floor, 1).verdict is Verdict.DRIFT) < 0.01


def test_a_sequential_rate_has_its_verdict_chance_and_rows_needed() -> None:
    drift = sequential_rate(700, 1000, 0.9, 3)
    assert (drift.verdict, drift.looks) == (Verdict.DRIFT, 3)
    assert drift.p_drift is not None
    assert drift.p_drift < 1e-10
    open_ = sequential_rate(90, 100, 0.85, 1)
    assert (open_.verdict, open_.p_drift) == (Verdict.INCONCLUSIVE, 1.0)
    needed = open_.rows_needed
    assert needed is not None
    assert sequential_rate(round(0.9 * needed * 1.02), round(needed * 1.02), 0.85, 2).verdict is Verdict.PASS
    assert sequential_rate(round(0.9 * needed * 0.9), round(needed * 0.9), 0.85, 2).verdict is Verdict.INCONCLUSIVE
    assert sequential_rate(85, 100, 0.85, 1).rows_needed is None
    assert sequential_rate(99, 100, 1.0, 1).verdict is Verdict.DRIFT
    assert sequential_rate(100, 100, 1.0, 1).verdict is Verdict.PASS
    assert "99 % at each of 3 looks" in sentence(drift)
    with pytest.raises(InputError):
        sequential_rate(3, 2, 0.9, 1)


class Draws:
    """Row i of the baseline is i; the candidate's differs with probability 1 - rate, decided by the row alone."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    describe = "draws"

    def __call__(self, given: Any, outputs: tuple[str, ...]) -> Outputs:
        rows = given["x"]
        uniform = np.random.default_rng(5).random(100_000)[rows]
        return Outputs({"tokens": np.where(uniform < self.rate, rows, -1)})


def drawn_case(rate: float, floor: float, grows: bool = True) -> Case:
    def grow(blocks: int) -> dict[str, Any]:
        return {"x": np.arange(blocks * BLOCK)}

    sides = Draws(1.0), Draws(rate)
    grown = grow if grows else None
    return Case("drawn", lambda: grow(1), {"tokens": agreement()}, *sides, Floor(floor, residual=floor), grow=grown)


def explain(case: Case, given: Any, baseline: Outputs, candidate: Outputs, differs: Mask) -> tuple[Attribution, Any]:
    rows = tuple({"row": int(row), "cause": "unexplained"} for row in np.flatnonzero(differs))
    return Attribution({}, int(differs.sum()), {}, Rate(1, 1, 0.0, (0.0, 1.0)), None, rows), {}


def decided(case: Case, most_rows: int) -> tuple[CaseResult, list[int]]:
    seen: list[int] = []

    def again(more: Case) -> CaseResult:
        seen.append(len(more.inputs()["x"]))
        return run_case(more, explain=explain)

    return until_decided(case, run_case(case, explain=explain), again, most_rows), seen


@pytest.mark.parametrize(("rate", "verdict"), [(0.97, Verdict.PASS), (0.84, Verdict.DRIFT)])
def test_rows_double_until_the_rate_is_decided(rate: float, verdict: Verdict) -> None:
    found, seen = decided(drawn_case(rate, 0.9), 10_000)
    assert found.verdict is verdict
    assert seen == [BLOCK * 2**n for n in range(1, len(seen) + 1)]
    assert 0 < len(seen) < 7
    rates = found.comparisons[0].rate
    assert rates is not None
    assert (rates.rows, rates.looks) == (seen[-1], len(seen) + 1)
    assert f"99 % at each of {len(seen) + 1} looks" in found.comparisons[0].reason


def test_rows_end_and_the_case_stays_inconclusive() -> None:
    found, seen = decided(drawn_case(0.91, 0.9), 399)
    assert (found.verdict, seen) == (Verdict.INCONCLUSIVE, [200])
    assert "rows needed" in found.reason


def test_a_case_that_cannot_grow_keeps_its_exact_bounds() -> None:
    found, seen = decided(drawn_case(0.97, 0.9, grows=False), 10_000)
    assert seen == []
    assert found.comparisons[0].rate is not None
    assert found.comparisons[0].rate.looks is None

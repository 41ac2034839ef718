"""Bounds against scipy and statsmodels, three verdicts, what a run could have seen, and the one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from deepinfer.errors import InputError
from harness import agreement as agr
from harness.result import Predicted, Verdict

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_bounds_are_clopper_pearson_and_wilson(count: tuple[int, int]) -> None:
    equal, rows = count
    rate = agr.rate_of(equal, rows)
    low, high = proportion_confint(equal, rows, alpha=0.1, method="beta")
    exact = stats.binomtest(equal, rows, alternative="greater").proportion_ci(0.95, method="exact")
    assert rate.lower == pytest.approx(low, abs=1e-12)
    assert rate.lower == pytest.approx(exact.low, abs=1e-12)
    assert agr.upper_bound(equal, rows) == pytest.approx(high, abs=1e-12)
    assert rate.wilson == pytest.approx(proportion_confint(equal, rows, alpha=0.05, method="wilson"), abs=1e-12)


@given(counts, st.floats(0.01, 0.99))
def test_verdicts_follow_the_bounds(count: tuple[int, int], floor: float) -> None:
    equal, rows = count
    found = agr.rate_of(equal, rows, floor)
    if found.lower >= floor:
        assert found.verdict is Verdict.PASS
    elif agr.upper_bound(equal, rows) < floor:
        assert found.verdict is Verdict.DRIFT
    else:
        assert found.verdict is Verdict.INCONCLUSIVE
        assert found.rows_needed is None or found.rows_needed > rows


def test_a_point_estimate_above_the_floor_is_not_a_pass() -> None:
    assert agr.judge(234, 256, 0.9) is Verdict.INCONCLUSIVE
    assert agr.judge(3700, 4096, 0.88) is Verdict.PASS
    assert agr.judge(3700, 4096, 0.92) is Verdict.DRIFT


@pytest.mark.parametrize(("floor", "rows"), [(0.99, 299), (0.999, 2995), (0.9999, 29956)])
def test_rows_without_a_mismatch_that_prove_a_floor(floor: float, rows: int) -> None:
    assert agr.judge(rows, rows, floor) is Verdict.PASS
    assert agr.judge(rows - 1, rows - 1, floor) is Verdict.INCONCLUSIVE
    assert agr.rate_of(20, 20, floor).rows_needed == rows


def test_a_floor_of_one_is_about_these_rows() -> None:
    assert agr.judge(3, 3, 1.0) is Verdict.PASS
    assert agr.judge(249, 250, 1.0) is Verdict.DRIFT


@pytest.mark.parametrize(
    ("rows", "floor", "points"),
    [(256, 0.9, 6.4), (256, 0.99, 2.6), (1000, 0.9, 3.0), (1000, 0.99, 1.1), (4096, 0.9, 1.4), (4096, 0.99, 0.5)],
)
def test_the_smallest_visible_drop(rows: int, floor: float, points: float) -> None:
    drop = agr.visible_drop(rows, floor)
    assert 100 * drop == pytest.approx(points, abs=0.06)
    drifting = [k for k in range(rows + 1) if agr.upper_bound(k, rows) < floor]
    assert stats.binom.cdf(max(drifting), rows, floor - drop) == pytest.approx(0.9, abs=1e-9)


def test_visible_drop_at_the_ends() -> None:
    assert agr.visible_drop(2, 0.5) is None  # no count of two rows is drift
    assert agr.visible_drop(250, 1.0) == pytest.approx(1 - 0.1 ** (1 / 250))


@pytest.mark.parametrize(("equal", "rows", "floor"), [(234, 256, 0.9), (92, 100, 0.93), (20, 20, 0.99)])
def test_rows_needed_decide(equal: int, rows: int, floor: float) -> None:
    needed = agr.rate_of(equal, rows, floor).rows_needed
    rate = equal / rows
    assert agr.judge(round(rate * needed * 1.01), round(needed * 1.01), floor) is not Verdict.INCONCLUSIVE
    assert agr.judge(round(rate * needed * 0.9), round(needed * 0.9), floor) is Verdict.INCONCLUSIVE


def test_no_number_of_rows_decides_a_rate_that_is_the_floor() -> None:
    assert agr.rate_of(90, 100, 0.9).rows_needed is None


def test_coverage_of_the_gate(generator: np.random.Generator) -> None:
    """At a true rate just below the floor, a pass is a false one: at most 5 %, and the test must have room to fail."""
    floor, rows = 0.9, 500
    draws = generator.binomial(rows, floor - 1e-9, 4000)
    verdicts = {int(k): agr.judge(int(k), rows, floor) for k in np.unique(draws)}
    false_pass = np.mean([verdicts[int(k)] is Verdict.PASS for k in draws])
    assert 0.02 < false_pass <= 0.06


def test_the_sentence_is_fixed() -> None:
    rate = agr.rate_of(3700, 4096, 0.88)
    assert agr.sentence(rate, Predicted(0.901, (0.89, 0.91), True)) == (
        "agreement 3700/4096 = 90.3 % (95 % Wilson 89.4-91.2; one-sided exact lower 89.5); predicted 90.1;"
        " floor 88 %: pass; this run could have seen a drop of 1.5 points"
    )


def test_the_sentence_says_what_is_missing_and_what_is_off() -> None:
    text = agr.sentence(agr.rate_of(20, 20, 0.99), Predicted(0.5, (0.4, 0.6), False))
    assert "predicted 50.0 (outside its interval)" in text
    assert "floor 99 %: inconclusive, about 299 rows needed" in text
    assert "floor" not in agr.sentence(agr.rate_of(19, 20))


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100.0"), (0.9996, "99.96"), (4095 / 4096, "99.98"), (1 - 1e-9, "99.9999"), (0.5, "50.0"), (0.0, "0.0")],
)
def test_percent_never_rounds_a_difference_away(share: float, text: str) -> None:
    assert agr.percent(share) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: agr.rate_of(0, 0),
        lambda: agr.rate_of(3, 2),
        lambda: agr.rate_of(-1, 2),
        lambda: agr.rate_of(1, 2, 1.5),
        lambda: agr.rate_of(1, 2, 88.0),
    ],
)
def test_wrong_counts_and_floors(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]

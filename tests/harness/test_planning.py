"""Rows for floors: the table that was measured before, scipy as the oracle, the gate's own verdicts, and refusals."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deepinfer.errors import InputError
from harness import planning
from harness.agreement import judge, lower_bound, visible_drop
from harness.result import Verdict

TABLE = [
    (0.76, 0.75, (11608, 15999, 24228)),
    (0.90, 0.89, (5963, 8217, 12355)),
    (0.95, 0.94, (3370, 4619, 6878)),
    (0.99, 0.98, (1015, 1349, 1968)),
    (0.999, 0.989, (388, 483, 606)),
]
"""Floor, true rate below it, rows for (power .8, power .9, alpha .01 and power .9)."""


@pytest.mark.parametrize(("floor", "true", "rows"), TABLE)
def test_rows_that_show_a_drop(floor: float, true: float, rows: tuple[int, int, int]) -> None:
    asked = ({"power": 0.8}, {"power": 0.9}, {"power": 0.9, "alpha": 0.01})
    assert tuple(planning.plan(floor, true, **each).rows for each in asked) == rows


def test_rows_that_show_a_drop_of_the_residual_rate() -> None:
    assert planning.plan(0.998, 0.988).rows == 555


@pytest.mark.parametrize(
    ("floor", "true", "rows"), [(0.90, 0.91, 7552), (0.90, 0.95, 263), (0.98, 0.99, 1390), (0.99, 0.999, 628)]
)
def test_rows_that_earn_a_pass(floor: float, true: float, rows: int) -> None:
    assert planning.plan(floor, true).rows == rows


def test_a_gap_in_the_saw_tooth_is_not_hidden() -> None:
    """4,742 rows earn .999 at .9999, but 5,319 do not; from 6,294 on any number does."""
    found = planning.plan(0.999, 0.9999)
    assert (found.fewest, found.rows) == (4742, 6294)
    assert planning.pass_power(5319, 0.999, 0.9999) < 0.9 <= planning.pass_power(5318, 0.999, 0.9999)


@pytest.mark.parametrize(("floor", "rows"), [(0.99, 299), (0.999, 2995), (0.9999, 29956), (0.5, 5)])
def test_rows_that_prove_a_floor_without_a_mismatch(floor: float, rows: int) -> None:
    assert planning.rows_to_prove(floor) == rows
    assert lower_bound(rows, rows) >= floor > lower_bound(rows - 1, rows - 1)
    planning.check_provable(rows, floor)
    with pytest.raises(InputError, match=f"bring {rows} rows"):
        planning.check_provable(rows - 1, floor)


@pytest.mark.parametrize(("floor", "true"), [(0.9, 0.8), (0.5, 0.35), (0.97, 0.9), (0.9, 0.97), (0.6, 0.8), (0.3, 0.1)])
def test_a_plan_is_what_a_scan_of_every_number_of_rows_finds(floor: float, true: float) -> None:
    rows = np.arange(1, 700)
    counts = [np.arange(-1, n + 1) for n in rows]
    if true < floor:
        drifts = [k[stats.binom.cdf(k, n, floor) < 0.05].max() for n, k in zip(rows, counts, strict=True)]
        power = stats.binom.cdf(drifts, rows, true)
        np.testing.assert_allclose(planning.drift_power(rows, floor, true), power, atol=1e-12)
    else:
        counts = [np.append(k, k[-1] + 1) for k in counts]  # one more than there are rows: no count passes
        passes = [k[stats.binom.sf(k - 1, n, floor) <= 0.05].min() for n, k in zip(rows, counts, strict=True)]
        power = stats.binom.sf(np.subtract(passes, 1), rows, true)
        np.testing.assert_allclose(planning.pass_power(rows, floor, true), power, atol=1e-12)
    found = planning.plan(floor, true)
    assert found.fewest == rows[np.argmax(power >= 0.9)]
    assert found.rows == rows[np.flatnonzero(power < 0.9)[-1]] + 1


@settings(max_examples=30)
@given(st.integers(1, 3000), st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_power_is_the_chance_of_the_gate_s_verdict(rows: int, floor: float, true: float) -> None:
    counts = range(rows + 1)
    drifting = bisect_left(counts, True, key=lambda k: judge(k, rows, floor) is not Verdict.DRIFT)
    passing = bisect_left(counts, True, key=lambda k: judge(k, rows, floor) is Verdict.PASS)
    at_most, at_least = stats.binom.cdf(drifting - 1, rows, true), stats.binom.sf(passing - 1, rows, true)
    assert float(planning.drift_power(rows, floor, true)) == pytest.approx(at_most, abs=1e-9)
    assert float(planning.pass_power(rows, floor, true)) == pytest.approx(at_least, abs=1e-9)


def test_the_visible_drop_is_where_the_power_is_reached() -> None:
    drop = visible_drop(4096, 0.9, power=0.8, alpha=0.01)
    assert drop is not None
    assert float(planning.drift_power(4096, 0.9, 0.9 - drop, 0.01)) == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize(
    ("shares", "named"),
    [
        ({"floor": 0.0, "true": 0.5}, "floor 0.0"),
        ({"floor": 1.5, "true": 0.5}, "floor 1.5"),
        ({"floor": 0.9, "true": -0.1}, "true -0.1"),
        ({"floor": 0.9, "true": 0.9}, "the floor itself"),
        ({"floor": 1.0, "true": 0.9}, "claim about the rows"),
        ({"floor": 0.9, "true": 0.8, "power": 1.0}, "power 1.0"),
        ({"floor": 0.9, "true": 0.8, "alpha": 0.0}, "alpha 0.0"),
        ({"floor": 0.9, "true": float("nan")}, "true nan"),
        ({"floor": 0.9, "true": 0.89999}, "further apart"),
    ],
)
def test_what_cannot_be_planned_is_one_line(shares: dict[str, float], named: str) -> None:
    with pytest.raises(InputError, match=named) as refused:
        planning.plan(**shares)
    assert "\n" not in str(refused.value)

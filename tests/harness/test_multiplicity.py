"""Holm's method, pairs of runs, and what both do to a run's verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from deepinfer.errors import InputError
from harness.agreement import rate_of
from harness.case import Floor
from harness.explanation import with_attribution
from harness.multiplicity import Paired, beside_each_other, holm, paired
from harness.result import Attribution, CaseResult, Comparison, RunResult, Verdict


def drawn(equal: int, rows: int, floor: float, unexplained: int = 0, residual: float = 1.0) -> Comparison:
    rate = rate_of(equal, rows, floor)
    causes = {"rejection_limit": rows - equal - unexplained}
    attribution = Attribution(causes, unexplained, {}, rate, None)
    plain = Comparison("tokens", "agreement", rate.verdict, "", rows, rows, rows - equal, rate=rate)
    return with_attribution(plain, attribution, Floor(floor, residual))


def case(name: str, *comparisons: Comparison, **changes: object) -> CaseResult:
    verdict = max((one.verdict for one in comparisons), key=lambda one: one is not Verdict.PASS)
    reason = f"{comparisons[0].output}: {comparisons[0].reason}"
    return replace(CaseResult(name, verdict, reason, "a", "b", {}, comparisons), **changes)


def run(*cases: CaseResult) -> RunResult:
    return RunResult("test", {}, cases)


LOW = drawn(82, 100, 0.885)
"""Below its floor with a chance of .037: drift alone."""


def test_the_example_is_drift_alone() -> None:
    assert LOW.verdict is Verdict.DRIFT
    assert LOW.rate is not None
    assert 0.025 < (LOW.rate.p_drift or 1) < 0.05
    assert beside_each_other(run(case("one", LOW))).verdict is Verdict.DRIFT


def test_a_weak_drift_beside_others_is_inconclusive_and_says_so() -> None:
    found = beside_each_other(run(case("one", LOW), case("two", drawn(99, 100, 0.9))))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.cases[0].verdict is Verdict.INCONCLUSIVE
    assert "floor 88.5 %: inconclusive" in found.cases[0].reason
    assert "below its floor alone, not among 2 claims (Holm)" in found.cases[0].reason
    assert found.cases[1].verdict is Verdict.PASS


def test_a_strong_drift_stays_beside_nineteen_others() -> None:
    healthy = [case(f"h{index}", drawn(99, 100, 0.9)) for index in range(19)]
    found = beside_each_other(run(case("bad", drawn(60, 100, 0.9)), *healthy))
    assert (found.verdict, found.exit_code) == (Verdict.DRIFT, 1)


def test_a_case_that_is_only_reported_is_no_member_of_the_family() -> None:
    others = [case(f"r{index}", drawn(99, 100, 0.9), report_only="a finding") for index in range(9)]
    assert beside_each_other(run(case("one", LOW), *others)).verdict is Verdict.DRIFT


def test_claims_about_these_rows_are_not_statistics() -> None:
    """An unexplained row under a residual floor of 1, and a bitwise difference, are drift whatever stands beside."""
    bits = Comparison("kept", "bitwise", Verdict.DRIFT, "1 of 8", 8, 8, 1)
    healthy = [case(f"h{index}", drawn(99, 100, 0.9)) for index in range(9)]
    assert beside_each_other(run(case("one", drawn(99, 100, 0.9, 1)), *healthy)).verdict is Verdict.DRIFT
    weak = beside_each_other(run(case("one", LOW, bits), *healthy))
    assert weak.cases[0].verdict is Verdict.DRIFT
    assert weak.cases[0].reason == "kept: 1 of 8"
    assert weak.cases[0].comparisons[0].verdict is Verdict.INCONCLUSIVE


def test_a_residual_rate_joins_the_family() -> None:
    weak = drawn(100, 100, 0.0, 0, 0.9)
    residual = drawn(82, 100, 0.0, 18, 0.885)
    assert beside_each_other(run(case("one", residual))).verdict is Verdict.DRIFT
    assert beside_each_other(run(case("one", residual), case("two", weak))).verdict is Verdict.INCONCLUSIVE


@pytest.fixture(autouse=True, scope="module")
def no_collection() -> Iterator[None]:
    """statsmodels collects garbage at every call, which takes seconds beside a whole test run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.collect", lambda *_: 0)
        yield


@given(st.lists(st.floats(0, 0.1), min_size=1, max_size=12), st.floats(0.01, 0.2))
def test_holm_is_its_definition(chances: list[float], alpha: float) -> None:
    order = sorted(range(len(chances)), key=chances.__getitem__)
    expected = [False] * len(chances)
    for step, at in enumerate(order):
        if chances[at] > alpha / (len(chances) - step):
            break
        expected[at] = True
    assert holm(chances, alpha) == expected


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]) == []


def test_family_of_twenty_keeps_the_false_alarms_of_one(generator: np.random.Generator) -> None:
    chances = generator.random((400, 20))
    together = np.mean([any(holm(list(row))) for row in chances])
    assert (chances < 0.05).any(axis=1).mean() > 0.5
    assert 0.01 < together < 0.09


@given(st.integers(0, 60), st.integers(0, 60))
def test_pairs_are_mcnemar_s_exact_test(lost: int, gained: int) -> None:
    one_sided = Paired(lost, gained).chance
    if lost > gained:
        two_sided = mcnemar([[0, lost], [gained, 0]], exact=True).pvalue
        assert 2 * one_sided == pytest.approx(two_sided, rel=1e-9)
    else:
        assert one_sided >= 0.5


def test_pairs_count_rows_and_refuse_other_rows() -> None:
    before, now = np.asarray([1, 1, 1, 0], np.bool_), np.asarray([0, 0, 1, 1], np.bool_)
    assert paired(before, now) == Paired(lost=2, gained=1)
    with pytest.raises(InputError, match="same rows"):
        paired(before, now[:3])


def test_lost_rows_beyond_chance_are_drift() -> None:
    healthy = run(case("one", drawn(970, 1000, 0.9)), case("two", drawn(970, 1000, 0.9)))
    found = beside_each_other(healthy, {"one": Paired(25, 3), "two": Paired(5, 4)})
    assert [one.verdict for one in found.cases] == [Verdict.DRIFT, Verdict.PASS]
    assert "25 rows lost and 3 gained since the accepted run" in found.cases[0].reason
    chances = [Paired(lost, 3).chance for lost in range(3, 30)]
    assert all(a > b for a, b in pairwise(chances))

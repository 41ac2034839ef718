"""How the attribution of differing draws, and proofs of differing sets, join a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import pytest

from harness.agreement import rate_of
from harness.case import Case, Floor, Outputs
from harness.result import Attribution, Predicted, Verdict
from harness.rules import Rule, agreement, same_set
from harness.runner import run_case

ROWS = 400


class Answers:
    """A subject that gives fixed arrays."""

    describe = "fixed arrays"

    def __init__(self, **arrays: np.ndarray) -> None:
        self.arrays = arrays

    def __call__(self, given: Any, outputs: tuple[str, ...]) -> Outputs:
        return Outputs({name: array.copy() for name, array in self.arrays.items()})


def inputs() -> dict[str, Any]:
    return {"x": np.arange(ROWS), "mode": "plain"}


def draws(equal: int, floor: Floor) -> Case:
    """Tokens that agree on the first `equal` rows."""
    rows = np.arange(ROWS)
    sides = Answers(tokens=rows), Answers(tokens=np.where(rows < equal, rows, -1))
    return Case("drawing", inputs, {"tokens": agreement()}, *sides, floor)


def test_unexplained_draws_fail_the_residual_floor() -> None:
    found = run_case(draws(380, Floor(0.9)))
    assert found.verdict is Verdict.DRIFT
    assert "floor 90 %: pass" in found.reason
    assert "residual 380/400 (nothing was explained), floor 100 %: drift" in found.reason
    assert run_case(draws(380, Floor(0.9, residual=0.9))).verdict is Verdict.PASS
    assert run_case(draws(400, Floor(0.9))).verdict is Verdict.PASS


def told(causes: Mapping[str, int], unexplained: int, predicted: Predicted | None = None) -> Attribution:
    rows = tuple({"row": np.int64(row), "cause": cause} for row, cause in enumerate(causes))
    return Attribution(causes, unexplained, {"total": 0.08}, rate_of(0, 1), predicted, rows)


def test_an_explanation_restores_the_residual() -> None:
    seen: list[Any] = []

    def explain(*arguments: Any) -> tuple[Attribution, Mapping[str, Any]]:
        seen.append(arguments)
        return told({"discontinuity": 20}, 0), {"rows": {"total": np.arange(ROWS)}, "curve": (1.0, np.float32(0.5))}

    found = run_case(draws(380, Floor(0.9)), explain=explain)
    assert found.verdict is Verdict.PASS
    assert found.comparisons[0].attribution.residual.equal == ROWS
    assert found.comparisons[0].attribution.rows == ({"row": 0, "cause": "discontinuity"},)
    assert found.evidence == {"rows": {"total": list(range(ROWS))}, "curve": [1.0, 0.5]}
    ((asked, given, baseline, candidate, differing),) = seen
    assert (asked.name, sorted(given)) == ("drawing", ["mode", "x"])
    assert differing.tolist() == [False] * 380 + [True] * 20
    assert (baseline.arrays["tokens"] != candidate.arrays["tokens"]).sum() == 20


def test_the_hook_is_asked_also_when_nothing_differs() -> None:
    asked: list[int] = []

    def explain(*arguments: Any) -> tuple[Attribution, Mapping[str, Any]]:
        asked.append(int(arguments[-1].sum()))
        return told({}, 0), {}

    run_case(draws(400, Floor(0.9)), explain=explain)
    assert asked == [0]


def test_an_unexplained_row_is_drift() -> None:
    found = run_case(draws(380, Floor(0.9)), explain=lambda *_: (told({"discontinuity": 19}, 1), {}))
    assert found.verdict is Verdict.DRIFT
    assert "residual 399/400, floor 100 %: drift" in found.reason


def test_unexplained_may_be_among_the_causes() -> None:
    causes = {"discontinuity": 19, "unexplained": 1}
    found = run_case(draws(380, Floor(0.9, residual=0.9)), explain=lambda *_: (told(causes, 1), {}))
    assert found.verdict is Verdict.PASS


def broken_hook(*_: Any) -> tuple[Attribution, Mapping[str, Any]]:
    raise RuntimeError("lost")


@pytest.mark.parametrize(
    ("explain", "text"),
    [
        (broken_hook, "RuntimeError: lost"),
        (lambda *_: (told({"discontinuity": 7}, 0), {}), "ValueError: 7 rows attributed and 0 unexplained, but 20"),
        (lambda *_: (told({"discontinuity": 20}, 0), {"rows": {"total": [1]}}), "'total' of the rows has 1 entries"),
        (lambda *_: (told({"discontinuity": 20}, 0), {"when": date(2027, 1, 1)}), "TypeError: a date has no JSON"),
    ],
)
def test_an_explanation_that_fails_or_does_not_balance_is_an_error(explain: Any, text: str) -> None:
    found = run_case(draws(380, Floor(0.9)), explain=explain)
    assert found.verdict is Verdict.ERROR
    assert text in found.reason
    assert found.comparisons[0].verdict is Verdict.DRIFT  # what was compared is still told


def test_a_rate_outside_its_prediction_is_flagged_above_it_too() -> None:
    for rate in (0.5, 0.999):
        predicted = Predicted(rate, (rate - 0.01, rate + 0.0005), False)
        found = run_case(draws(380, Floor(0.9)), explain=lambda *_, p=predicted: (told({"cdf": 20}, 0, p), {}))
        assert found.verdict is Verdict.PASS
        assert any(note.startswith("flag: measured agreement 95.0 %") for note in found.notes)
        assert "(outside its interval)" in found.comparisons[0].reason
    inside = Predicted(0.95, (0.9, 0.99), True)
    calm = run_case(draws(380, Floor(0.9)), explain=lambda *_: (told({"cdf": 20}, 0, inside), {}))
    assert not any(note.startswith("flag") for note in calm.notes)


def kept_case(crossed: int, floor: float) -> Case:
    mask = np.ones((ROWS, 4), np.bool_)
    other = mask.copy()
    other[:crossed, 3] = False
    tokens = np.arange(ROWS)
    rules: dict[str, Rule] = {"kept": same_set(floor), "tokens": agreement()}
    return Case(
        "sets", inputs, rules, Answers(tokens=tokens, kept=mask), Answers(tokens=tokens, kept=other), Floor(0.9)
    )


def crossing(names: list[str]) -> Any:
    causes = names + [""] * (ROWS - len(names))
    return lambda *_: (told({}, 0), {"rows": {"kept_cause": causes}})


@pytest.mark.parametrize(
    ("crossed", "floor", "names", "verdict"),
    [
        (0, 1.0, [], Verdict.PASS),
        (2, 0.99, ["threshold crossing"] * 2, Verdict.PASS),
        (2, 0.99, ["threshold crossing", "unexplained"], Verdict.DRIFT),
        (2, 0.99, ["threshold crossing", ""], Verdict.DRIFT),
        (2, 1.0, ["threshold crossing"] * 2, Verdict.DRIFT),
        (5, 0.99, ["threshold crossing"] * 5, Verdict.DRIFT),
    ],
)
def test_other_sets_need_a_proven_cause_each(crossed: int, floor: float, names: list[str], verdict: Verdict) -> None:
    found = run_case(kept_case(crossed, floor), explain=crossing(names))
    assert found.verdict is verdict
    assert [one.output for one in found.comparisons] == ["kept", "tokens"]


def test_other_sets_without_any_explanation_are_drift() -> None:
    assert run_case(kept_case(1, 0.99)).verdict is Verdict.DRIFT

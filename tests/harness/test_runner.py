"""The runner: what it must catch, in which order, with which verdict and exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from harness.case import Case, Floor, Outputs, Subject
from harness.result import CaseResult, RunResult, Verdict
from harness.rules import Rule, agreement, bitwise, ignore, tolerance
from harness.runner import run, run_case
from harness.subjects import callable_subject

ROWS = 400
RULES: dict[str, Rule] = {"out": bitwise()}


def inputs() -> dict[str, Any]:
    return {"x": np.arange(2 * ROWS, dtype=np.float32).reshape(ROWS, 2), "scale": 2.0, "mode": "plain"}


def double(given: dict[str, Any]) -> dict[str, Any]:
    return {"out": given["x"] * np.float32(given["scale"])}


def case(candidate: Callable[..., Any], baseline: Callable[..., Any] = double, /, **changes: Any) -> Case:
    made = Case("doubling", inputs, RULES, callable_subject(baseline, "base"), callable_subject(candidate, "cand"))
    return replace(made, **changes)


def test_equal_sides_pass_and_the_work_is_counted() -> None:
    found = run([case(double)])
    assert (found.verdict, found.exit_code) == (Verdict.PASS, 0)
    (only,) = found.cases
    assert only.reason == f"1 outputs compared, {2 * ROWS} elements"
    assert (only.baseline, only.candidate) == ("callable base", "callable cand")
    assert sorted(only.inputs) == ["mode", "scale", "x"]
    assert "each side gave the same bits twice on the whole case" in only.notes


def test_a_difference_is_drift_with_its_element() -> None:
    def off_by_one_bit(given: dict[str, Any]) -> dict[str, Any]:
        out = double(given)["out"]
        out[7, 1] = np.nextafter(out[7, 1], np.float32(1e9))
        return {"out": out}

    found = run([case(off_by_one_bit)])
    assert found.exit_code == 1
    assert found.cases[0].comparisons[0].first.index == (7, 1)
    assert found.cases[0].reason.startswith("out: 1 of 800 elements not equal in every bit, at most 1 ULP apart")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({}, "out: missing in the candidate"),
        ({"out": np.zeros((ROWS, 2), np.float32), "more": np.zeros(3)}, "more: missing in the baseline"),
        ({"out": np.zeros(5, np.float32)}, "out: shape"),
        ({"out": np.zeros((ROWS, 2), np.float64)}, "out: dtype"),
    ],
)
def test_outputs_that_do_not_match_are_not_comparable(answer: dict[str, Any], reason: str) -> None:
    found = run([case(lambda given: {name: array.copy() for name, array in answer.items()})])
    assert (found.verdict, found.exit_code) == (Verdict.NOT_COMPARABLE, 4)
    assert found.cases[0].reason.startswith(reason)


def test_an_output_of_both_sides_without_a_rule_is_not_comparable() -> None:
    def more(given: dict[str, Any]) -> dict[str, Any]:
        return {**double(given), "more": np.ones(3)}

    found = run([case(more, more)])
    assert found.exit_code == 4
    assert "no rule" in found.cases[0].reason


def test_a_shorter_token_list_is_not_comparable() -> None:
    whole, part = np.arange(64), np.arange(63)
    found = run([case(lambda given: {"out": part.copy()}, lambda given: {"out": whole.copy()})])
    assert found.exit_code == 4


@pytest.mark.parametrize("rules", [{"out": bitwise()}, {"out": agreement()}])
def test_empty_outputs_are_empty(rules: dict[str, Rule]) -> None:
    def nothing(given: dict[str, Any]) -> dict[str, Any]:
        return {"out": np.zeros((0, 2), np.float32)}

    found = run([case(nothing, nothing, rules=rules, floor=Floor(0.9))])
    assert (found.verdict, found.exit_code) == (Verdict.EMPTY, 5)


def test_no_case_and_no_rule_are_empty() -> None:
    assert run([]).exit_code == 5
    assert run([case(lambda given: {}, lambda given: {}, rules={})]).exit_code == 5


def test_nothing_but_ignored_outputs_is_empty() -> None:
    rules = {"out": ignore("not ready", "2027-01-31")}
    held = run([case(double, rules=rules)], today=date(2027, 1, 1))
    assert (held.verdict, held.exit_code) == (Verdict.EMPTY, 5)
    late = run([case(double, rules=rules)], today=date(2027, 3, 1))
    assert (late.verdict, late.exit_code) == (Verdict.NOT_COMPARABLE, 4)


def test_an_ignored_output_beside_a_compared_one_does_not_count() -> None:
    def more(given: dict[str, Any]) -> dict[str, Any]:
        return {**double(given), "noise": np.random.default_rng().random(3)}

    rules = {"out": bitwise(), "noise": ignore("differs by design", "2027-01-31")}
    found = run([case(more, rules=rules)], today=date(2027, 1, 1))
    assert found.exit_code == 0
    assert [one.verdict for one in found.cases[0].comparisons] == [Verdict.PASS, Verdict.EMPTY]


def test_a_candidate_that_answers_another_time_differently_is_run_to_run() -> None:
    calls: list[int] = []

    def drifting(given: dict[str, Any]) -> dict[str, Any]:
        calls.append(1)
        out = double(given)["out"]
        out[3, 0] += len(calls) > 1
        return {"out": out}

    for side in ("candidate", "baseline"):
        calls.clear()
        pair = (drifting, double) if side == "candidate" else (double, drifting)
        found = run([case(*pair)])
        assert found.exit_code == 1
        assert found.cases[0].reason.startswith(f"run-to-run: the {side} differs from itself: out: 1 of 800")
        assert found.cases[0].comparisons[0].rule == f"bitwise, {side} against itself"


def test_run_to_run_sees_outputs_that_come_and_go() -> None:
    calls: list[int] = []

    def flickering(given: dict[str, Any]) -> dict[str, Any]:
        calls.append(1)
        return double(given) if len(calls) % 2 else {**double(given), "more": np.ones(3)}

    assert run([case(flickering)]).cases[0].reason.startswith("run-to-run")


def test_self_rows_runs_each_side_against_itself_on_fewer_rows() -> None:
    seen: list[int] = []

    def watched(given: dict[str, Any]) -> dict[str, Any]:
        seen.append(len(given["x"]))
        return double(given)

    found = run([case(watched, self_rows=32)])
    assert seen == [ROWS, 32, 32]
    assert "each side gave the same bits twice on the first 32 rows" in found.cases[0].notes
    assert found.cases[0].comparisons[0].rows == ROWS


def test_mutated_inputs_are_caught_on_either_side() -> None:
    def writes(given: dict[str, Any]) -> dict[str, Any]:
        out = double(given)
        given["x"][0, 0] = -1
        return out

    def replaces(given: dict[str, Any]) -> dict[str, Any]:
        given["scale"] = 3.0  # its own dict: harmless
        return {"out": given["x"] * np.float32(2)}

    found = run([case(writes)])
    assert (found.exit_code, found.cases[0].reason) == (4, "the candidate wrote to its input 'x'")
    assert run([case(double, writes)]).cases[0].reason == "the baseline wrote to its input 'x'"
    assert run([case(replaces)]).exit_code == 0


def test_a_side_cannot_reach_the_other_s_inputs() -> None:
    shared = inputs()

    def writes_original(given: dict[str, Any]) -> dict[str, Any]:
        out = double(given)
        shared["x"][0, 0] = -1
        return out

    found = run([case(writes_original, inputs=lambda: shared)])
    assert found.cases[0].reason == "the candidate wrote to its input 'x'"


def test_the_baseline_s_buffer_handed_on_is_caught() -> None:
    held: list[np.ndarray] = []

    def keeps(given: dict[str, Any]) -> dict[str, Any]:
        held.append(double(given)["out"])
        return {"out": held[-1]}

    for steal in (lambda given: {"out": held[-1]}, lambda given: {"out": held[0][:]}):
        held.clear()
        found = run([case(steal, keeps)])
        assert found.exit_code == 4
        assert found.cases[0].reason == "the candidate's 'out' lies in a buffer of the baseline"


def test_a_buffer_handed_out_again_unwritten_is_caught() -> None:
    buffer = double(inputs())["out"]
    found = run([case(lambda given: {"out": buffer})])
    assert found.cases[0].reason.startswith("run-to-run: the candidate")
    assert "NaN against a number" in found.cases[0].reason


def test_a_buffer_that_is_reused_and_written_is_fine() -> None:
    buffer = np.empty((ROWS, 2), np.float32)

    def reuses(given: dict[str, Any]) -> dict[str, Any]:
        np.multiply(given["x"], np.float32(2), out=buffer)
        return {"out": buffer}

    assert run([case(reuses)]).exit_code == 0


def test_masked_elements_are_compared_all_the_same() -> None:
    def hides(given: dict[str, Any]) -> dict[str, Any]:
        out = np.ma.masked_array(double(given)["out"], mask=False)
        out[5] = 0
        out[5] = np.ma.masked
        return {"out": out}

    assert run([case(hides)]).exit_code == 1


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("two\nlines"), "the candidate failed: ValueError: two lines"),
        (InputError("row 3: NaN"), "the candidate failed: InputError: row 3: NaN"),
        (SystemExit(0), "the candidate failed: SystemExit: 0"),
        (MemoryError(), "the candidate failed: MemoryError"),
    ],
)
def test_a_subject_that_fails_is_an_error_and_the_others_go_on(error: BaseException, text: str) -> None:
    def fails(given: dict[str, Any]) -> Any:
        raise error

    found = run([case(fails), case(double, name="healthy")])
    assert [one.verdict for one in found.cases] == [Verdict.ERROR, Verdict.PASS]
    assert (found.exit_code, found.cases[0].reason) == (70, text)


class Unwrapped:
    describe = "returns a bare array"

    def __call__(self, given: Any, outputs: tuple[str, ...]) -> Any:
        return given["x"]


class Listing:
    describe = "returns a list"

    def __call__(self, given: Any, outputs: tuple[str, ...]) -> Any:
        return Outputs({"out": [1, 2]})  # type: ignore[dict-item]


@pytest.mark.parametrize("subject", [Unwrapped(), Listing()], ids=lambda subject: subject.describe)
def test_a_subject_that_breaks_its_contract_is_an_error(subject: Subject) -> None:
    assert run([case(double, candidate=subject)]).exit_code == 70


def test_subjects_are_asked_for_the_outputs_under_rules() -> None:
    asked: list[tuple[str, ...]] = []

    class Asked:
        describe = "notes what it is asked"

        def __call__(self, given: Any, outputs: tuple[str, ...]) -> Outputs:
            asked.append(outputs)
            return Outputs(double(dict(given)), ran="in one pass")

    rules: dict[str, Rule] = {"out": bitwise(), "noise": ignore("why", "2999-01-01")}
    found = run([case(double, candidate=Asked(), rules=rules)])
    assert asked == [("out",), ("out",)]
    assert found.cases[0].candidate == "notes what it is asked, in one pass"


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ({"rules": {"out": tolerance(0.5, 1e9)}}, "case doubling: .*vacuous"),
        ({"rules": {"out": agreement()}}, "case doubling: .*floor"),
        ({"rules": {"out": agreement("prompt")}, "floor": Floor(0.9)}, "case doubling: .*no 'prompt'"),
        ({"rules": {"out": agreement(), "x": agreement()}, "floor": Floor(0.9)}, "one drawn output"),
        ({"inputs": lambda: {"x": object()}}, "case doubling: input 'x' is a object"),
    ],
)
def test_a_case_that_is_wrong_itself_is_refused(broken: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        run([case(double, **broken)])


def test_two_cases_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="'doubling'"):
        run([case(double), case(double)])


def test_progress_names_each_case_and_the_end() -> None:
    told: list[tuple[int, int, str]] = []
    run([case(double), case(double, name="second")], progress=lambda *step: told.append(step))
    assert told == [(0, 2, "doubling"), (1, 2, "second"), (2, 2, "")]


def test_few_rows_are_inconclusive() -> None:
    def tokens(given: dict[str, Any]) -> dict[str, Any]:
        return {"tokens": np.arange(20)}

    found = run([case(tokens, tokens, rules={"tokens": agreement()}, floor=Floor(0.99))])
    assert (found.verdict, found.exit_code) == (Verdict.INCONCLUSIVE, 3)


def test_the_worst_comparison_decides() -> None:
    def both(given: dict[str, Any]) -> dict[str, Any]:
        return {**double(given), "b": np.ones(3)}

    def drifting(given: dict[str, Any]) -> dict[str, Any]:
        return {"out": double(given)["out"] + 1, "b": np.ones(4)}

    found = run_case(case(drifting, both, rules={"out": bitwise(), "b": bitwise()}))
    assert (found.verdict, found.reason[:8]) == (Verdict.NOT_COMPARABLE, "b: shape")


def test_a_run_s_verdict_is_the_worst_of_its_cases() -> None:
    def result(verdict: Verdict) -> CaseResult:
        return CaseResult("n", verdict, "", "", "", {}, ())

    order = ["error", "not_comparable", "drift", "empty", "inconclusive", "pass"]
    codes = {name: RunResult("s", {}, (result(Verdict(name)), result(Verdict.PASS))).exit_code for name in order}
    assert codes == {"error": 70, "not_comparable": 4, "drift": 1, "empty": 5, "inconclusive": 3, "pass": 0}
    for worse, better in pairwise(order):
        assert RunResult("s", {}, (result(Verdict(better)), result(Verdict(worse)))).verdict == worse

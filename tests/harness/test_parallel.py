"""Several processes give the result of one, and a worker's end or error is not lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from harness.case import Case
from harness.parallel import run_parallel
from harness.result import Verdict
from harness.rules import bitwise, tolerance
from harness.runner import run
from harness.subjects import callable_subject


def case(name: str, candidate: Callable[[dict[str, Any]], Any], rule: Any = None) -> Case:
    def baseline(inputs: dict[str, Any]) -> Any:
        return inputs["x"] * 2

    return Case(
        name=name,
        inputs=lambda: {"x": np.arange(1, 6, dtype=np.int64)},
        rules={"tokens": rule or bitwise()},
        baseline=callable_subject(baseline, "twice"),
        candidate=callable_subject(candidate, "candidate"),
    )


CASES = [
    case("same", lambda inputs: inputs["x"] + inputs["x"]),
    case("other", lambda inputs: inputs["x"] + 1),
    case("shape", lambda inputs: inputs["x"][:2]),
    case("fails", lambda inputs: 1 // 0),
    case("again", lambda inputs: inputs["x"] * 2),
]


@pytest.mark.parametrize("jobs", [1, 2, 3, 9])
def test_the_result_does_not_depend_on_jobs(jobs: int) -> None:
    told: list[tuple[int, int, str]] = []
    result = run_parallel(CASES, jobs=jobs, suite="s", options={"a": 1}, progress=lambda *step: told.append(step))
    assert result == run(CASES, suite="s", options={"a": 1})
    assert [one.verdict for one in result.cases][:2] == [Verdict.PASS, Verdict.DRIFT]
    assert told[-1] == (5, 5, "")
    assert sorted(name for _, _, name in told) == sorted(["", *(one.name for one in CASES)])


def test_a_wrong_case_is_an_error_as_in_one_process() -> None:
    vacuous = [*CASES, case("vacuous", lambda inputs: inputs["x"] * 2, tolerance(0.0, 1e9))]
    with pytest.raises(InputError, match="vacuous"):
        run_parallel(vacuous, jobs=2)


def test_a_case_that_ends_its_process_is_named() -> None:
    with pytest.raises(InputError, match="case kills ended its process"):
        run_parallel([*CASES, case("kills", lambda inputs: os._exit(9))], jobs=2)


def test_jobs_must_be_positive() -> None:
    with pytest.raises(InputError, match="jobs is 0"):
        run_parallel(CASES, jobs=0)

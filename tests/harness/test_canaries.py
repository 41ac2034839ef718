"""A rule that cannot refuse is a configuration error before it is a green; the choice is in the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from harness.case import Case, Floor
from harness.result import Verdict
from harness.rules import Rule, agreement, bitwise, same_set, ulp
from harness.runner import run
from harness.subjects import callable_subject

ROWS = 400


def case(rule: Rule, value: Any, floor: Floor | None = None) -> Case:
    side = callable_subject(lambda inputs: {"tokens": value.copy()}, "same")
    return Case("one", lambda: {"x": np.arange(len(value))}, {"tokens": rule}, side, side, floor)


def test_a_floor_of_nothing_is_refused_and_off_is_said() -> None:
    blind = case(agreement(), np.arange(ROWS, dtype=np.int32), Floor(0.0, residual=0.0))
    with pytest.raises(InputError, match="stays green"):
        run([blind])
    off = run([blind], canaries="off")
    assert off.verdict is Verdict.PASS
    assert off.options["canaries"] == "off"


@pytest.mark.parametrize("mode", ["fast", "full"])
@pytest.mark.parametrize(
    ("rule", "value", "floor"),
    [
        (bitwise(), np.arange(ROWS, dtype=np.int32), None),
        (bitwise(), np.linspace(-1, 1, ROWS, dtype=np.float32), None),
        (ulp(2), np.linspace(1, 2, ROWS, dtype=np.float32), None),
        (same_set(), np.arange(ROWS * 8).reshape(ROWS, 8) % 3 == 0, None),
        (agreement(), np.arange(ROWS, dtype=np.int32), Floor(0.9)),
    ],
)
def test_rules_that_see_stay_green(mode: str, rule: Rule, value: Any, floor: Floor | None) -> None:
    result = run([case(rule, value, floor)], canaries=mode)
    assert result.verdict is Verdict.PASS, result.cases[0].reason
    assert result.options["canaries"] == mode


def test_a_drift_stays_a_drift() -> None:
    value = np.arange(ROWS, dtype=np.int32)
    sides = callable_subject(lambda inputs: value.copy(), "a"), callable_subject(lambda inputs: value + 1, "b")
    wrong = Case("two", lambda: {"x": value}, {"tokens": bitwise()}, *sides)
    assert run([wrong]).verdict is Verdict.DRIFT


def test_unknown_choice_lists_the_known() -> None:
    with pytest.raises(InputError, match="fast, full, off"):
        run([case(bitwise(), np.arange(ROWS))], canaries="some")

"""What a run found goes to JSON and comes back the same value, down to the bits of its floats."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepinfer.errors import InputError
from harness.agreement import rate_of
from harness.case import Case, Floor, Outputs
from harness.plain import plain
from harness.result import Attribution, Predicted, RunResult
from harness.rules import agreement, bitwise
from harness.runner import run
from repro.run_json import run_from_json, run_to_json


class Answers:
    describe = "fixed arrays"

    def __init__(self, **arrays: np.ndarray) -> None:
        self.arrays = arrays

    def __call__(self, inputs: Any, outputs: tuple[str, ...]) -> Outputs:
        return Outputs({name: array.copy() for name, array in self.arrays.items()})


def explain(*_: Any) -> tuple[Attribution, Mapping[str, Any]]:
    predicted = Predicted(0.1 + 0.2, (np.float64(1 / 3), 0.9), True)
    rows = ({"row": np.int64(7), "gap": np.float32(0.1), "worst": math.inf, "words": (1, 2**63)},)
    return Attribution({"discontinuity": 2}, 0, {"total": 0.08}, rate_of(9, 9), predicted, rows), {
        "rows": {"total": np.arange(40, dtype=np.uint64) + np.uint64(2**63), "x": np.full(40, np.nan)},
        "nothing": None,
    }


@pytest.fixture(scope="module")
def result() -> RunResult:
    tokens = np.arange(40)
    values = np.asarray([0.0, np.nan, 1e-45, np.inf], np.float32)
    others = (values.view(np.uint32) + np.asarray([0x80000000, 1, 1, 0], np.uint32)).view(np.float32)
    sides = (
        Answers(tokens=tokens, values=values),
        Answers(tokens=np.where(tokens < 38, tokens, -1), values=others),
    )
    rules = {"tokens": agreement(), "values": bitwise()}
    case = Case("mixed", lambda: {"x": tokens, "mode": "plain"}, rules, *sides, Floor(0.5), ("a note",))
    return run(
        [case, replace(case, name="missing", candidate=Answers(tokens=tokens))], explain=explain, options={"n": 1}
    )


def test_a_run_comes_back_equal(result: RunResult) -> None:
    text = run_to_json(result)
    back = run_from_json(text)
    assert run_to_json(back) == text
    assert back.verdict is result.verdict
    assert back.cases[0].comparisons == result.cases[0].comparisons
    assert back.cases[1] == result.cases[1]
    assert back.cases[0].comparisons[0].attribution.predicted.interval == (1 / 3, 0.9)
    assert back.cases[0].evidence["rows"]["total"][-1] == 2**63 + 39
    assert math.isnan(back.cases[0].evidence["rows"]["x"][0])


def test_keys_are_sorted_and_nothing_is_outside_json(result: RunResult) -> None:
    text = run_to_json(result)

    def no_constant(name: str) -> None:
        raise AssertionError(name)

    def sorted_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert [key for key, _ in pairs] == sorted(key for key, _ in pairs)
        return dict(pairs)

    json.loads(text, parse_constant=no_constant, object_pairs_hook=sorted_keys)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_schema_version_is_refused(result: RunResult, version: Any) -> None:
    data = json.loads(run_to_json(result)) | {"schema_version": version}
    with pytest.raises(InputError, match="schema version"):
        run_from_json(json.dumps(data))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=8))
def test_plain_values_stay_what_they_are(value: Any) -> None:
    assert repr(plain(value)) == repr(value)


def test_plain_takes_numpy_apart_and_refuses_the_rest() -> None:
    found = plain({"a": np.float32(0.1), 3: (np.bool_(True), np.arange(2)), "n": np.asarray(2)})
    assert found == {"a": float(np.float32(0.1)), "3": [True, [0, 1]], "n": 2}
    assert type(found["3"][0]) is bool
    for value in (object(), {1, 2}, b"bytes", 1j, np.asarray([1j]), np.ones(1, np.longdouble)):
        with pytest.raises(TypeError, match="no JSON form"):
            plain({"x": value})

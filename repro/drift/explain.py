"""The hook that attributes differences: read from `explain` downward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.agreement import rate_of
from harness.case import Case, Inputs, Outputs
from harness.explanation import UNEXPLAINED
from harness.result import Attribution
from harness.rules import Agreement
from repro.drift.attribute import Restored, kept_causes, paths_of, reach_of, restore_rows
from repro.drift.evidence import Told, evidence_of, row_mapping
from repro.drift.false_match import false_match_rate
from repro.drift.predict import expectation, predicted
from repro.drift.sides import Model, Side, model_of, side_of
from repro.drift.state import facts_of

Mask = NDArray[np.bool_]


def explain(
    case: Case, inputs: Inputs, baseline: Outputs, candidate: Outputs, differs: Mask, *, backend: str = "reference"
) -> tuple[Attribution, Mapping[str, Any]]:
    """Why the rows `differs` (bool[Q]) disagree, how many were to be expected, and the numbers behind both.

    The contract is harness.explanation.Explain. `backend` runs our own model of the rows where no side has a record.
    A case whose inputs are no sampler's keeps every row unexplained.
    """
    model = model_of(inputs, baseline, candidate, backend)
    if model is None:
        return _nothing(case, differs), {}
    told = _analyse(model, _sides(case, inputs, baseline, candidate, model), differs)
    causes = Counter(cause for cause in told.causes if cause not in ("", UNEXPLAINED))
    rows, left = len(differs), told.causes.count(UNEXPLAINED)
    floor = None if case.floor is None else case.floor.residual
    attribution = Attribution(
        causes=dict(causes.most_common()),
        unexplained=left,
        false_match=told.false_match,
        residual=rate_of(rows - left, rows, floor),
        predicted=None if told.expected is None else predicted(told.expected, rows - int(differs.sum())),
        rows=tuple(row_mapping(told, row) for row in np.flatnonzero(differs).tolist()),
    )
    return attribution, evidence_of(told)


def _sides(case: Case, inputs: Inputs, baseline: Outputs, candidate: Outputs, model: Model) -> tuple[Side, Side]:
    output = next(name for name, rule in case.rules.items() if isinstance(rule, Agreement))
    return (
        side_of("baseline", case.baseline, inputs, baseline, baseline.arrays[output], model),
        side_of("candidate", case.candidate, inputs, candidate, candidate.arrays[output], model),
    )


def _analyse(model: Model, sides: tuple[Side, Side], differs: Mask) -> Told:
    """Every probe on every side that is not the model itself."""
    facts = tuple(facts_of(model, side) for side in sides if side.name != model.owner)
    paths = [paths_of(one) for one in facts]
    reaches = [
        [reach_of(state, path) for state, path in zip(one.own, of_one, strict=True)]
        for one, of_one in zip(facts, paths, strict=True)
    ]
    answers = [
        restore_rows(one, of_one, np.flatnonzero(differs & (one.side.tokens != model.tokens)))
        for one, of_one in zip(facts, paths, strict=True)
    ]
    restored = tuple(answer.rows for answer in answers)
    rows = range(len(differs))
    return Told(
        model=model,
        sides=sides,
        facts=facts,
        differs=differs,
        causes=[_cause(model, sides, restored, row) if differs[row] else "" for row in rows],
        kept_causes=_joined([kept_causes(one, of_one) for one, of_one in zip(facts, paths, strict=True)]),
        restored=restored,
        stream=answers[0].stream,
        false_match=false_match_rate(facts[0], reaches[0], answers[0].table),
        expected=expectation(facts, reaches),
    )


def _cause(model: Model, sides: tuple[Side, Side], restored: Sequence[Mapping[int, Restored]], row: int) -> str:
    """The causes of the sides that are not as the model has the row, joined; UNEXPLAINED where one has none.

    Where the side that owns the model did not answer its own record's token, nothing about the row is known.
    """
    own = [side for side in sides if side.name == model.owner and side.tokens[row] != model.tokens[row]]
    found = [one[row].cause for one in restored if row in one]
    named = [cause for cause in found if cause is not None]
    if own or not named or len(named) < len(found):
        return UNEXPLAINED
    return "+".join(dict.fromkeys(named))


def _joined(parts: Sequence[Sequence[str]]) -> list[str]:
    """The kept causes of one row on both sides: what is unexplained stays so, else the causes that there are."""
    joined = []
    for causes in zip(*parts, strict=True):
        named = list(dict.fromkeys(cause for cause in causes if cause))
        joined.append(UNEXPLAINED if UNEXPLAINED in named else "+".join(named))
    return joined


def _nothing(case: Case, differs: Mask) -> Attribution:
    left, rows = int(differs.sum()), len(differs)
    floor = None if case.floor is None else case.floor.residual
    return Attribution({}, left, {}, rate_of(rows - left, rows, floor), None)

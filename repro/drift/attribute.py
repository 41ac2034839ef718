"""Which counterfactual gives a side's tokens back: row by row, and over all rows where the stream is another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.explanation import UNEXPLAINED
from repro.drift import threshold_crossing, tie_breaking
from repro.drift.draws import I64
from repro.drift.probes import RNG_STREAM, alternatives, cause_of
from repro.drift.state import Facts, RowState, Step, drawn
from repro.drift.streams import LEAST_ROWS, Found, Table, search, stream_words, table_of

SET_CAUSES = (threshold_crossing.CAUSE, tie_breaking.CAUSE)


@dataclass(frozen=True)
class Restored:
    """A row of one side that the model does not give: the counterfactual that does (None: unexplained), other causes
    that would as well, and the stream hypothesis where one was needed."""

    row: int
    token: int
    state: RowState | None
    also: tuple[str, ...] = ()
    stream: str | None = None

    @property
    def cause(self) -> str | None:
        return None if self.state is None else cause_of(self.state)


Paths = Sequence[Sequence[RowState]]
"""Every admissible counterfactual of each row, in the order in which causes are named; none where nothing is drawn."""


def paths_of(facts: Facts) -> Paths:
    """The counterfactuals of every row."""
    return [[] if state is None else list(alternatives(facts, state)) for state in facts.own]


def reach_of(state: RowState | None, path: Sequence[RowState]) -> Mapping[int, str]:
    """Every token other than the row's own that some counterfactual gives -> the first cause that does."""
    reached: dict[int, str] = {}
    for other in path:
        cause = cause_of(other)
        for token in other.reaches:
            reached.setdefault(token, cause)
    if state is not None:
        reached.pop(state.token, None)
    return reached


def restore(state: RowState, path: Sequence[RowState], token: int) -> Restored:
    """The state itself, where it gives `token` already, else its first counterfactual that does."""
    if state.token == token:
        return Restored(state.row, token, state if state.steps else None)
    found = [other for other in path if token in other.reaches]
    if not found:
        return Restored(state.row, token, None)
    also = dict.fromkeys(cause_of(other) for other in found[1:])
    also.pop(cause_of(found[0]), None)
    return Restored(state.row, token, replace(found[0], token=token), tuple(also))


@dataclass(frozen=True)
class Answer:
    """What restores each row, the stream hypothesis that was accepted, and the table it was searched in (None: the row
    probes left too little to search for)."""

    rows: dict[int, Restored]
    stream: Found | None
    table: Table | None


def restore_rows(facts: Facts, paths: Paths, rows: I64) -> Answer:
    """What restores the side's token in each of `rows`, in which it is not the model's.

    Row probes come first. If one stream hypothesis then explains the rest together, it is applied to them; and to all
    of `rows`, before any row probe, where it also keeps the rows that agree.
    """
    tokens = facts.side.tokens
    told = {row: _restore_own(facts, paths[row], row) for row in rows.tolist()}
    left = np.asarray([row for row, found in told.items() if found.state is None and facts.model.drew[row]], np.int64)
    if len(left) < LEAST_ROWS:
        return Answer(told, None, None)
    table = table_of(facts)
    agreeing = np.setdiff1d(np.flatnonzero(facts.model.drew & (facts.model.tokens == tokens)), rows)
    found = search(facts, table, tokens, left, agreeing)
    if found is None:
        return Answer(told, None, table)
    words = stream_words(facts, found.hypothesis).tolist()
    for row in rows.tolist() if found.keeps_agreement else left.tolist():
        own = facts.own[row]
        if own is None:
            continue
        steps = (*own.steps, Step(RNG_STREAM, found.hypothesis.name, 0, 0))
        state = drawn(facts.rule, facts.order, row, own.kept, own.weights, words[row], steps)
        if state is None:
            continue
        restored = restore(state, list(alternatives(facts, state)), int(tokens[row]))
        if restored.state is not None:
            told[row] = replace(restored, stream=found.hypothesis.name)
    return Answer(told, found, table)


def _restore_own(facts: Facts, path: Sequence[RowState], row: int) -> Restored:
    state, token = facts.own[row], int(facts.side.tokens[row])
    return Restored(row, token, None) if state is None else restore(state, path, token)


def kept_causes(facts: Facts, paths: Paths) -> list[str]:
    """Why the side's kept set is another, a word a row: empty where it is not known to be, or is equal."""
    return ["" if same else _kept_cause(facts, path) for same, path in zip(facts.equal_set, paths, strict=True)]


def _kept_cause(facts: Facts, path: Sequence[RowState]) -> str:
    for other in path:
        if other.other_set and facts.same_set(other):
            return "+".join(step.cause for step in other.steps if step.cause in SET_CAUSES)
    return UNEXPLAINED

"""The agreement expected before any token is compared, and its 99 % interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.result import Predicted
from repro.drift.chance import FEW_VALUES, settled, token_chances
from repro.drift.draws import EXACT
from repro.drift.state import Facts
from repro.drift.threshold_crossing import crossable, length_chances, tells, walk_of

F64 = NDArray[np.float64]
TAIL = 0.005


@dataclass(frozen=True)
class Expectation:
    """The probability that the two sides' tokens differ, float64[Q], and a label for the rows whose errors are shared
    (int64[Q]): they are counted as standing or falling together."""

    differ: F64
    together: NDArray[np.int64]


def expectation(facts: Sequence[Facts], reaches: Sequence[Sequence[Mapping[int, str]]]) -> Expectation | None:
    """What is expected of the sides: the model is one of two and `facts` is of the other, or of neither and of both.

    `reaches` holds attribute.reach_of of each side's rows; a row without another token in reach is certain.
    None where a side is known to draw by another rule.
    """
    model = facts[0].model
    if any(one.side.draw not in (None, model.draw) for one in facts):
        return None
    rows = len(model.tokens)
    differ = np.zeros(rows)
    if model.draw == EXACT or model.plan is None:
        return Expectation(differ, np.arange(rows))
    certain = [settled(one) for one in facts]
    for row in np.flatnonzero(model.fresh).tolist():
        chances = [
            _chances(one, row) if reach[row] and not sure[row] else None
            for one, reach, sure in zip(facts, reaches, certain, strict=True)
        ]
        if any(chance is not None for chance in chances):
            differ[row] = 1 - _equal(facts[0], row, chances)
    return Expectation(np.clip(differ, 0, 1), _together(facts, differ > 0))


def predicted(expected: Expectation, equal: int) -> Predicted:
    """The expected rate with its 99 % interval, and whether `equal` rows lie inside.

    Rows are independent but for those that share their errors, which are taken as comonotone: with one uniform number
    each row of a group differs when its probability exceeds it. The distribution is then exact, by convolution.
    """
    rows = len(expected.differ)
    distribution = np.ones(1)
    for label in np.unique(expected.together[expected.differ > 0]).tolist():
        group = np.sort(expected.differ[(expected.together == label) & (expected.differ > 0)])[::-1]
        at_least = np.concatenate([[1.0], group, [0.0]])
        distribution = np.convolve(distribution, at_least[:-1] - at_least[1:])
    below = np.cumsum(distribution)
    fewest = int(np.searchsorted(below, TAIL))
    most = min(int(np.searchsorted(below, 1 - TAIL)), len(below) - 1)
    interval = (rows - most) / rows, (rows - fewest) / rows
    rate = equal / rows
    return Predicted(float(1 - expected.differ.sum() / rows), interval, interval[0] <= rate <= interval[1])


def _equal(facts: Facts, row: int, chances: Sequence[Mapping[int, float] | None]) -> float:
    """The probability of equal tokens; a side without chances has the model's own token."""
    state = facts.own[row]
    assert state is not None
    certain = {state.token: 1.0}
    first, *rest = [certain if chance is None else chance for chance in chances]
    other = rest[0] if rest else certain
    return sum(chance * other.get(token, 0.0) for token, chance in first.items())


def _chances(facts: Facts, row: int) -> Mapping[int, float] | None:
    """Token -> probability on the side, over the sets that it may have kept."""
    state = facts.own[row]
    plan = facts.model.plan
    assert state is not None and plan is not None
    if facts.side.kept is not None:
        return token_chances(facts, state, facts.side.kept[row])
    length = int(np.count_nonzero(state.kept))
    if not crossable(plan, row) or (tells(facts) and facts.same_set(state)):
        return token_chances(facts, state, state.kept)
    walk = walk_of(facts, row)
    lengths = length_chances(facts, walk, length)
    if facts.side.kept_count is not None:
        lengths = {int(facts.side.kept_count[row]): 1.0}
    chances: dict[int, float] = defaultdict(float)
    for target, share in lengths.items():
        if share > 0:
            kept = state.kept if target == length else walk.prefix(target, len(state.kept))
            for token, chance in token_chances(facts, state, kept).items():
                chances[token] += share * chance
    return chances


def _together(facts: Sequence[Facts], uncertain: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Labels: an own one for each row, but one for all rows that exponentiate the same few values."""
    model = facts[0].model
    assert model.plan is not None
    labels = np.arange(len(model.tokens))
    seen: dict[tuple[bytes, bytes], int] = {}
    for row in np.flatnonzero(uncertain).tolist():
        values = np.unique(model.plan.logits[row][model.kept[row]])
        if len(values) <= FEW_VALUES:
            labels[row] = seen.setdefault((model.lse0[row].tobytes(), values.tobytes()), row)
    return labels

"""The agreement expected before any token is compared, and its 99 % interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.result import Predicted
from repro.drift.chance import FEW_VALUES, Possible, possible_draws, settled
from repro.drift.draws import EXACT
from repro.drift.state import Facts
from repro.drift.threshold_crossing import crossable, length_chances, tells, walk_of

F64 = NDArray[np.float64]
TAIL = 0.005


@dataclass(frozen=True)
class Expectation:
    """The probability that the two sides' tokens differ, float64[Q], and a label for the rows whose errors are shared
    (int64[Q]): they are counted as standing or falling together. `draws` holds the ways in which each side may have
    drawn, one mapping a side, row -> ways, for the rows that are not certain."""

    differ: F64
    together: NDArray[np.int64]
    draws: tuple[Mapping[int, list[Possible]], ...]


def expectation(facts: Sequence[Facts], reaches: Sequence[Sequence[Mapping[int, str]]]) -> Expectation | None:
    """What is expected of the sides: the model is one of two and `facts` is of the other, or of neither and of both.

    `reaches` holds attribute.reach_of of each side's rows; a row without another token in reach is certain. None where
    a side is of another sampler, whose weights say nothing about the model's.
    """
    model = facts[0].model
    if any((one.side.draw == EXACT) != (model.draw == EXACT) for one in facts if one.side.draw is not None):
        return None
    uncertain = [_uncertain(one, reach) for one, reach in zip(facts, reaches, strict=True)]
    draws = tuple(
        {row: _possible(one, row) for row in np.flatnonzero(rows).tolist()}
        for one, rows in zip(facts, uncertain, strict=True)
    )
    differ = np.zeros(len(model.tokens))
    for row in np.flatnonzero(model.drew).tolist():
        sides = [_tokens(one, ways, row) for one, ways in zip(facts, draws, strict=True)]
        other = sides[1] if len(sides) > 1 else {int(model.tokens[row]): 1.0}
        differ[row] = 1 - sum(chance * other.get(token, 0.0) for token, chance in sides[0].items())
    differ = np.where(differ < 1e-9, 0, differ)
    return Expectation(np.clip(differ, 0, 1), _together(facts[0], differ > 0), draws)


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


def _uncertain(facts: Facts, reach: Sequence[Mapping[int, str]]) -> NDArray[np.bool_]:
    """Rows whose token on the side is not simply the model's weights drawn by the side's rule."""
    if facts.model.plan is None or facts.rule == EXACT:
        return np.zeros(len(facts.total), np.bool_)
    reachable = np.asarray([bool(tokens) for tokens in reach], np.bool_)
    return np.asarray(facts.model.fresh & reachable & ~settled(facts))


def _tokens(facts: Facts, draws: Mapping[int, list[Possible]], row: int) -> Mapping[int, float]:
    """Token -> probability on the side."""
    state = facts.own[row]
    if row not in draws:
        return {} if state is None else {state.token: 1.0}
    chances: dict[int, float] = defaultdict(float)
    for way in draws[row]:
        chances[way.token] += way.chance
    return chances


def _possible(facts: Facts, row: int) -> list[Possible]:
    """The ways in which the side may have drawn, over the sets that it may have kept."""
    state, plan = facts.own[row], facts.model.plan
    assert state is not None and plan is not None
    if facts.side.kept is not None:
        return possible_draws(facts, state, facts.side.kept[row])
    if not crossable(plan, row) or (tells(facts) and facts.same_set(state)):
        return possible_draws(facts, state, state.kept)
    length = int(np.count_nonzero(state.kept))
    walk = walk_of(facts, row)
    lengths = length_chances(facts, walk, length)
    if facts.side.kept_count is not None:
        lengths = {int(facts.side.kept_count[row]): 1.0}
    found = []
    for target, share in lengths.items():
        if share > 0:
            kept = state.kept if target == length else walk.prefix(target, len(state.kept))
            ways = possible_draws(facts, state, kept)
            found += [Possible(way.total, way.token, share * way.chance) for way in ways]
    return found


def _together(facts: Facts, uncertain: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Labels: an own one for each row, but one for all rows that exponentiate the same few values."""
    model = facts.model
    labels = np.arange(len(model.tokens))
    if model.plan is None:
        return labels
    seen: dict[tuple[bytes, bytes], int] = {}
    for row in np.flatnonzero(uncertain & (facts.rule == "modulo_reject")).tolist():
        values = np.unique(model.plan.logits[row][model.kept[row]])
        if len(values) <= FEW_VALUES:
            labels[row] = seen.setdefault((model.lse0[row].tobytes(), values.tobytes()), row)
    return labels

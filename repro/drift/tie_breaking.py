"""Bit-equal logits at the threshold, of which only some are kept: another choice among them."""

from __future__ import annotations

import numpy as np

from repro.drift.state import Facts, Mask, RowState, Step, drawn

CAUSE = "tie_breaking"


def other_ties(facts: Facts, state: RowState) -> list[RowState]:
    """The same number of ties at the threshold, chosen as the side chose them, or the last ones instead of the first.

    No error is assumed: the columns that are swapped hold equal logits, so their weights are swapped and the total
    stays. Where the side tells its columns, they must differ from the state's in ties alone.
    """
    plan = facts.model.plan
    if plan is None or (facts.side.kept is not None and facts.same_set(state)):
        return []
    key = plan.logits[state.row] + np.float32(0)  # one key for both zeros
    threshold = key[state.kept].min()
    ties = (key == threshold) & (key > -np.inf)
    chosen = int(np.count_nonzero(ties & state.kept))
    if chosen == int(np.count_nonzero(ties)):
        return []
    kept = _choice(facts, state, ties, chosen)
    if kept is None or np.array_equal(kept, state.kept):
        return []
    weights = state.weights.copy()
    at_threshold = weights[ties & state.kept].max()
    weights[ties & state.kept & ~kept] = 0
    weights[ties & kept & ~state.kept] = at_threshold
    moved = int(np.count_nonzero(kept & ~state.kept))
    step = Step(CAUSE, f"{moved} of {int(np.count_nonzero(ties))} bit-equal logits chosen otherwise", 0, 0)
    steps = (*state.steps, step)
    other = drawn(facts.rule, facts.order, state.row, kept, weights, state.words, steps, other_set=True)
    return [] if other is None else [other]


def _choice(facts: Facts, state: RowState, ties: Mask, chosen: int) -> Mask | None:
    """The side's kept columns if they differ in ties alone; the last ties where the side does not tell."""
    if facts.side.kept is not None:
        kept = facts.side.kept[state.row]
        fits = np.array_equal(kept | ties, state.kept | ties) and np.count_nonzero(kept & ties) == chosen
        return kept if fits else None
    if not facts.same_set(state):
        return None
    last = np.zeros_like(ties)
    last[np.flatnonzero(ties)[-chosen:]] = True
    return (state.kept & ~ties) | last

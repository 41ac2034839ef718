"""The rejection limit steps from 2 to 1 times the total at 2^31: keep the weights, take the other side's draw index."""

from __future__ import annotations

from deepinfer.sampling.spec import ONE
from repro.drift.draws import index_below
from repro.drift.state import Facts, RowState, Step, at_index

CAUSE = "rejection_limit"


def across_the_step(facts: Facts, state: RowState) -> list[RowState]:
    """The same weights under the limit of the step's other side.

    Admissible where the kept sets agree, the total lies within the bound of 2^31, and the side's own total, where it
    is known, does lie on the other side. A limit that accepts the same word changes nothing.
    """
    margin, bound = abs(state.total - ONE), int(facts.bound[state.row])
    if facts.rule != "modulo_reject" or margin > bound or not facts.same_set(state):
        return []
    other = None if facts.side.total is None else int(facts.side.total[state.row])
    if other is not None and (other < ONE) == (state.total < ONE):
        return []
    below = state.total < ONE
    limit = state.total if below else 2**32
    index = index_below(state.words, limit)
    if index < 0 or index == state.index:
        return []
    step = Step(CAUSE, f"limit {'1' if below else '2'} x total for {'2' if below else '1'} x total", margin, bound)
    return [at_index(facts, state, limit, index, step)]

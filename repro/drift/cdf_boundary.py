"""Weights that differ by units move the edges of the CDF: a token with its interval beside the residue is in reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from repro.drift.draws import place_of
from repro.drift.state import Facts, RowState, Step

CAUSE = "cdf_boundary"


def beside_the_residue(facts: Facts, state: RowState) -> list[RowState]:
    """The same draw index; every column whose interval comes within reach of the residue, as one state.

    An edge and the residue (where the word exceeds the total) each move by at most the bound of the totals' distance.
    Admissible where the kept sets agree; `margin` is the distance of the nearest such interval.
    """
    bound = int(facts.bound[state.row])
    if bound < 0 or not facts.same_set(state):
        return []
    reach = bound if state.words[state.index] < state.total else 2 * bound
    first = place_of(state.edges, max(state.residue - reach, 0))
    last = place_of(state.edges, min(state.residue + reach, state.total - 1))
    if first == last:
        return []
    places = np.arange(first, last + 1)
    columns = places if facts.order is None else facts.order[places]
    near = (places != state.place) & (state.weights[columns] > 0)
    places, columns = places[near], columns[near]
    if not places.size:
        return []
    low = int(state.edges[state.place - 1]) if state.place else 0
    below = state.residue - low + 1 if places[0] < state.place else reach
    above = int(state.edges[state.place]) - state.residue if places[-1] > state.place else reach
    step = Step(CAUSE, "an edge of the CDF moved past the residue", min(below, above), reach)
    return [replace(state, reaches=tuple(columns.tolist()), steps=(*state.steps, step))]

"""One differing row's draw on both sides, coarse enough to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deepinfer.sampling.spec import ONE, rejection_limit
from repro.drift import rejection_limit as step_probe
from repro.drift.attribute import Restored
from repro.drift.state import Facts, RowState

FINEST = 200
"""Columns lighter than this part of the total are joined into runs."""
BESIDE = 4
"""Drawable columns shown on either side of a drawn one."""


def cdf_of(facts: Facts, restored: Mapping[int, Restored]) -> dict[str, Any] | None:
    """The clearest row that the rejection limit alone explains: the model's draw and the counterfactual one, under the
    names of the sides; None where there is no such row."""
    pairs = [
        (facts.own[row], found.state)
        for row, found in restored.items()
        if found.cause == step_probe.CAUSE and found.state is not None
    ]
    shown = [(own, other) for own, other in pairs if own is not None]
    if not shown:
        return None
    own, other = max(shown, key=_clarity)
    names = {facts.side.name: other, facts.model.owner: own}
    return {"row": own.row, **{name: _draw(facts, name, state) for name, state in names.items()}}


def _clarity(pair: tuple[RowState, RowState]) -> tuple[int, int]:
    """Few words, then wide intervals."""
    own, other = pair
    widths = [int(state.weights[state.token]) for state in pair]
    return -max(own.index, other.index), min(widths)


def _draw(facts: Facts, name: str, state: RowState) -> dict[str, Any]:
    """A side's draw; where the side does not tell its total, the nearest one on its side of the step."""
    total, limit = state.total, state.limit
    if name == facts.side.name:
        known = facts.side.total
        above = state.limit // state.total == 1
        total = int(known[state.row]) if known is not None else max(total, ONE) if above else min(total, ONE - 1)
        limit = rejection_limit(total)
    low, high = interval_of(state)
    return {
        "total": total,
        "limit": limit,
        "words": list(state.words[: state.index + 1]),
        "residue": state.residue,
        "token": state.token,
        "interval": [low, min(high, total)],
        "edges": _coarse(state, total),
        "beside": _beside(facts, state),
    }


def interval_of(state: RowState) -> list[int]:
    """The cumulative weights that bound the drawn place; a residue r falls into it when low <= r < high."""
    return [int(state.edges[state.place - 1]) if state.place else 0, int(state.edges[state.place])]


def _beside(facts: Facts, state: RowState) -> dict[str, list[int]]:
    """The drawable columns around the drawn one, in CDF order, and the edges that bound them: one more."""
    steps = np.diff(state.edges, prepend=np.uint64(0))
    drawable = np.flatnonzero(steps > 0)
    at = int(np.searchsorted(drawable, state.place))
    places = drawable[max(at - BESIDE, 0) : at + BESIDE + 1]
    columns = places if facts.order is None else facts.order[places]
    first = int(state.edges[places[0]]) - int(steps[places[0]])
    return {"columns": columns.tolist(), "edges": [first, *(int(edge) for edge in state.edges[places])]}


def _coarse(state: RowState, total: int) -> list[int]:
    """Rising edges from 0 to `total`; neighbours closer than total / FINEST are joined."""
    edges = [0]
    for edge in np.unique(state.edges).tolist():
        if edge - edges[-1] >= total // FINEST and total - edge >= total // FINEST:
            edges.append(int(edge))
    return [*edges, total]

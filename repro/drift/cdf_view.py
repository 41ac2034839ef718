"""One differing row's draw on both sides, coarse enough to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deepinfer.sampling.spec import ONE, rejection_limit
from repro.drift import rejection_limit as step_probe
from repro.drift.attribute import Restored
from repro.drift.state import Facts, RowState

FINEST = 400
"""Columns lighter than this part of the total are joined into runs."""
BESIDE = 4
"""Places shown on either side of a drawn one."""


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
    low = int(state.edges[state.place - 1]) if state.place else 0
    first, last = max(state.place - BESIDE, 0), min(state.place + BESIDE + 1, len(state.edges))
    places = np.arange(first, last)
    columns = places if facts.order is None else facts.order[places]
    return {
        "total": total,
        "limit": limit,
        "words": [int(word) for word in state.words[: state.index + 1]],
        "residue": state.residue,
        "token": state.token,
        "interval": [low, min(int(state.edges[state.place]), total)],
        "edges": _coarse(state, total),
        "beside": {
            "columns": columns.tolist(),
            "edges": [int(state.edges[first - 1]) if first else 0, *(int(edge) for edge in state.edges[first:last])],
        },
    }


def _coarse(state: RowState, total: int) -> list[int]:
    """Rising edges from 0 to `total`; neighbours closer than total / FINEST are joined."""
    edges = [0]
    for edge in np.unique(state.edges).tolist():
        if edge - edges[-1] >= total // FINEST and total - edge >= total // FINEST:
            edges.append(int(edge))
    return [*edges, total]

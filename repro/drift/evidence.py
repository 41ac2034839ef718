"""What the analysis leaves for a reader: a mapping for each row that differs, a table of all rows, what pictures need.

JSON values and lists only; integers stay integers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.sampling.spec import ONE
from repro.drift import rejection_limit
from repro.drift.attribute import Restored
from repro.drift.cdf_view import cdf_of, interval_of
from repro.drift.predict import Expectation
from repro.drift.sides import Model, Side
from repro.drift.state import Facts, RowState, drawn
from repro.drift.streams import Found


@dataclass(frozen=True)
class Told:
    """The whole analysis of one case; `facts` and `restored` have one entry for each side that is not the model."""

    model: Model
    sides: tuple[Side, Side]
    facts: tuple[Facts, ...]
    differs: NDArray[np.bool_]
    causes: list[str]
    kept_causes: list[str]
    restored: tuple[dict[int, Restored], ...]
    stream: Found | None
    false_match: dict[str, float]
    expected: Expectation | None


def row_mapping(told: Told, row: int) -> dict[str, Any]:
    """One differing row: the model's draw, and for each side that has another token the counterfactual that gives it.

    A side without one has `cause` None there.
    """
    return {
        **_row(told, row),
        "counterfactuals": [
            _counterfactual(told, one, found[row])
            for one, found in zip(told.facts, told.restored, strict=True)
            if row in found
        ],
    }


def evidence_of(told: Told) -> dict[str, Any]:
    """`rows`: column -> one value a row; `about`: what holds for all rows; `totals` and `cdf` for the pictures."""
    rows = [_row(told, row) for row in range(len(told.differs))]
    evidence: dict[str, Any] = {
        "rows": {name: [row[name] for row in rows] for name in rows[0]} if rows else {},
        "about": _about(told),
        "totals": _totals(told),
    }
    shown = cdf_of(told.facts[0], told.restored[0]) if len(told.facts) == 1 else None
    return evidence if shown is None else {**evidence, "cdf": shown}


def _row(told: Told, row: int) -> dict[str, Any]:
    """What the table says of a row; the model's own draw, by its own rule."""
    model, facts = told.model, told.facts[0]
    baseline, candidate = told.sides
    state = _model_state(told, row)
    drew = state is not None
    words = [] if state is None else list(state.words[: state.index + 1])
    total = int(facts.total[row])
    return {
        "row": row,
        "cause": told.causes[row],
        "kept_cause": told.kept_causes[row],
        "baseline_token": int(baseline.tokens[row]),
        "candidate_token": int(candidate.tokens[row]),
        "model_token": int(model.tokens[row]),
        "kept_count": int(facts.size.kept[row]),
        "model_total": total,
        "baseline_total": None if baseline.total is None else int(baseline.total[row]),
        "candidate_total": None if candidate.total is None else int(candidate.total[row]),
        "side": "at or above" if total >= ONE else "below",
        "margin": abs(total - ONE),
        "bound": int(facts.bound[row]) if drew else -1,
        "limit": state.limit if state is not None else 0,
        "words": words,
        "word_count": len(words),
        "residue": state.residue if state is not None else 0,
        "interval": interval_of(state) if state is not None else [],
        "flip_token": _flip_token(facts, facts.own[row]),
        "predicted": None if told.expected is None else float(told.expected.differ[row]),
        "seed": int(model.seeds[row]),
        "subsequence": int(model.subsequences[row]),
    }


def _model_state(told: Told, row: int) -> RowState | None:
    """The row as the model drew it, by its own rule."""
    facts, model = told.facts[0], told.model
    own = facts.own[row]
    if own is None or facts.rule == model.draw:
        return own
    return drawn(model.draw, facts.order, row, own.kept, own.weights, own.words)


def _flip_token(facts: Facts, state: RowState | None) -> int | None:
    """The token on the step's other side, where that is admissible and another word is taken there."""
    flipped = rejection_limit.across_the_step(facts, state) if state is not None else []
    return flipped[0].token if flipped else None


def _counterfactual(told: Told, facts: Facts, found: Restored) -> dict[str, Any]:
    state = found.state
    known = facts.side.total
    entry: dict[str, Any] = {
        "side": facts.side.name,
        "token": found.token,
        "cause": found.cause,
        "side_total": None if known is None else int(known[found.row]),
    }
    if state is None:
        return entry
    return {
        **entry,
        "steps": [asdict(step) for step in state.steps],
        "also": list(found.also),
        "stream": found.stream,
        "kept_count": int(np.count_nonzero(state.kept)),
        "total": state.total,
        "limit": state.limit,
        "words": list(state.words[: state.index + 1]),
        "residue": state.residue,
        "interval": interval_of(state),
    }


def _about(told: Told) -> dict[str, Any]:
    model, stream = told.model, told.stream
    return {
        "model": model.owner,
        "draw": model.draw,
        "columns": int(model.weights.shape[1]),
        "arithmetic": {side.name: side.arithmetic.name for side in told.sides},
        "largest_bound": int(told.facts[0].bound.max(initial=-1)),
        "stream": None
        if stream is None
        else {
            "hypothesis": stream.hypothesis.name,
            "restored": stream.restored,
            "judged": stream.judged,
            "chance": stream.chance,
            "keeps_agreement": stream.keeps_agreement,
        },
    }


def _totals(told: Told) -> dict[str, Any]:
    """Both sides' totals of the rows whose token the step may decide. A side that tells none is modelled: the total of
    the likeliest way to its token."""
    drawn = [side for side in told.sides if side.name != told.model.owner]
    modelled = [side.name for side in drawn if side.total is None]
    if modelled and (told.expected is None or not told.expected.draws):
        return {}
    rows = np.flatnonzero(told.model.drew).tolist()
    if modelled:
        assert told.expected is not None
        rows = [row for row in rows if all(row in draws for draws in told.expected.draws)]
    lists: dict[str, Any] = {side.name: [_side_total(told, side, row) for row in rows] for side in told.sides}
    return {"rows": rows, **lists, "differs": [bool(told.differs[row]) for row in rows], "modelled": modelled}


def _side_total(told: Told, side: Side, row: int) -> int:
    if side.name == told.model.owner:
        return int(told.facts[0].total[row])
    if side.total is not None:
        return int(side.total[row])
    assert told.expected is not None
    at = next(index for index, one in enumerate(told.facts) if one.side is side)
    ways = told.expected.draws[at][row]
    return max(ways, key=lambda way: (way.token == int(side.tokens[row]), way.chance)).total

"""One row's draw as a value, and what the probes may look at when they change one thing in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.drift.contract import RowSize, total_bound
from repro.drift.draws import (
    EXACT,
    I64,
    U64,
    edges_of,
    first_words,
    index_below,
    limit_of,
    place_of,
    residue_of,
    walk_order,
)
from repro.drift.sides import Model, Side

Mask = NDArray[np.bool_]
DRAW_RULE = "draw_rule"
"""The cause of a row whose sides are known to draw by different rules: no hypothesis, so it has no false match."""


@dataclass(frozen=True)
class Step:
    """One substitution: its cause, what was put in place of what, how far the row was from it, and the bound of that
    distance (units of 2^-31; 0 and 0 where no error is assumed)."""

    cause: str
    substituted: str
    margin: int
    bound: int


@dataclass(frozen=True)
class RowState:
    """A row's draw: the model's own (`steps` empty), or after substitutions.

    `edges` are the cumulative `weights` in CDF order, `index` the word taken of `words`, `place` where the residue
    falls in CDF order, `reaches` the tokens that the last step puts within reach (one, but for a window of the CDF).
    `other_set` says that `kept` is not the model's.
    """

    row: int
    kept: Mask
    weights: NDArray[Any]
    edges: U64
    words: Sequence[int]
    total: int
    limit: int
    index: int
    residue: int
    place: int
    token: int
    reaches: tuple[int, ...]
    steps: tuple[Step, ...]
    other_set: bool = False


@dataclass(frozen=True)
class Facts:
    """The model, one side to be explained, and what bounds their distance. Arrays have one entry a row.

    `order` is the walk of the CDF (draws.walk_order) and `rule` the side's rule of drawing. `own` is each row as the
    model's weights are drawn by that rule (None: nothing is drawn; 8 bytes for each column), with a step of cause
    DRAW_RULE where it is not the model's own. `bound` int64[Q] is how far the two totals may lie apart, -1 where the
    model bounds nothing: integers alone, a residual, no draw. `equal_set` is where the side keeps the model's columns,
    as far as it tells.
    """

    model: Model
    side: Side
    order: I64 | None
    rule: str
    own: tuple[RowState | None, ...]
    total: I64
    size: RowSize
    bound: I64
    equal_set: Mask

    def same_set(self, state: RowState) -> bool:
        """Whether the state keeps the columns that the side keeps, as far as the side tells."""
        if not state.other_set:
            return bool(self.equal_set[state.row])
        if self.side.kept is not None:
            return bool(np.array_equal(state.kept, self.side.kept[state.row]))
        if self.side.kept_count is not None:
            return int(np.count_nonzero(state.kept)) == int(self.side.kept_count[state.row])
        return True


def drawn(
    rule: str,
    order: I64 | None,
    row: int,
    kept: Mask,
    weights: NDArray[Any],
    words: Sequence[int],
    steps: tuple[Step, ...] = (),
    other_set: bool = False,
) -> RowState | None:
    """A draw from `weights` by `rule`; None where every weight is zero or no word is accepted."""
    edges = edges_of(weights, order)
    total = int(edges[-1])
    limit = limit_of(rule, total)
    index = index_below(words, limit)
    if total == 0 or index < 0:
        return None
    residue, place, token = _pointed_at(rule, order, edges, words, index)
    return RowState(
        row, kept, weights, edges, words, total, limit, index, residue, place, token, (token,), steps, other_set
    )


def at_index(facts: Facts, state: RowState, limit: int, index: int, step: Step) -> RowState:
    """The same weights, drawn with the word at `index`."""
    residue, place, token = _pointed_at(facts.rule, facts.order, state.edges, state.words, index)
    return replace(
        state,
        limit=limit,
        index=index,
        residue=residue,
        place=place,
        token=token,
        reaches=(token,),
        steps=(*state.steps, step),
    )


def _pointed_at(rule: str, order: I64 | None, edges: U64, words: Sequence[int], index: int) -> tuple[int, int, int]:
    residue = residue_of(rule, words, index, int(edges[-1]))
    place = place_of(edges, residue)
    return residue, place, place if order is None else int(order[place])


def facts_of(model: Model, side: Side) -> Facts:
    """What is worth computing for all rows at once."""
    total = model.weights.sum(axis=1, dtype=np.uint64).astype(np.int64)
    size = row_size(model, total)
    certain = ~model.fresh if model.draw != EXACT else np.ones(len(total), np.bool_)
    bound = np.where(certain, -1, total_bound(model.arithmetic, side.arithmetic, size))
    words = first_words(model.seeds, model.subsequences).tolist()
    order, rule = walk_order(model.weights.shape[1]), model.draw
    steps: tuple[Step, ...] = ()
    if side.draw not in (None, EXACT, rule) and rule != EXACT:
        rule, steps = str(side.draw), (Step(DRAW_RULE, f"{side.draw} for {model.draw}", 0, 0),)
    own = tuple(
        drawn(rule, order, row, model.kept[row], model.weights[row], words[row], steps) if drew else None
        for row, drew in enumerate(model.drew.tolist())
    )
    return Facts(model, side, order, rule, own, total, size, bound, _equal_set(model, side))


def _equal_set(model: Model, side: Side) -> Mask:
    if side.kept is not None:
        return np.asarray((side.kept == model.kept).all(axis=1))
    if side.kept_count is not None:
        return np.asarray(side.kept_count == np.count_nonzero(model.kept, axis=1))
    return np.ones(len(model.tokens), np.bool_)


def row_size(model: Model, total: I64) -> RowSize:
    """The magnitudes on which a row's error depends; zeros where no float was summed."""
    columns = model.weights.shape[1]
    kept = np.count_nonzero(model.kept, axis=1).astype(np.float64)
    if model.plan is None or model.draw == EXACT:
        zero = np.zeros_like(kept)
        return RowSize(zero, zero, zero, kept, zero, zero, columns)
    lse, lse0 = model.lse[:, 0].astype(np.float64), model.lse0.astype(np.float64)
    plan, cut = model.plan, model.plan.cut
    mass = np.multiply(model.weights, plan.logits, out=np.zeros(model.weights.shape), where=model.kept)
    highest = plan.logits.max(axis=1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean = (mass.sum(axis=1) / np.maximum(total, 1) - highest) * plan.inv_temperature + lse0
    return RowSize(
        entropy=np.abs(mean),
        log_mass=np.abs(np.where(cut, lse - lse0, lse0)),
        lse_spacing=np.spacing(np.abs(model.lse0)).astype(np.float64),
        kept=kept,
        floored=np.count_nonzero(model.weights - np.uint32(1) < 2**23 - 1, axis=1).astype(np.float64),
        sums=np.where(cut & (plan.filter_order == "top_k_first"), 2.0, 1.0),
        columns=columns,
    )

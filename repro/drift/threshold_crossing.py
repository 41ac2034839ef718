"""The accumulated mass reaches top-p a column earlier or later on the other side: substitute its kept set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from deepinfer.sampling import reference as ref
from deepinfer.sampling.params import Plan
from deepinfer.sampling.spec import ONE
from repro.drift.contract import ROUNDING_VARIANCE, UNITS, RowSize, U, floor_error, side_error
from repro.drift.state import Facts, RowState, Step, drawn

CAUSE = "threshold_crossing"
ROOM = 8
"""Bounds of the total within which a set counts as near; the mass before the cut has a bound of its own, below that."""


@dataclass(frozen=True)
class Walk:
    """One row's cut: the live columns by (logit descending, column ascending), and their accumulated integer masses.

    Every kept set is a prefix of this order. `shortest` and `longest` are the prefixes that top-p gives when the mass
    is off by `bound` units; top-k, a count, moves by nothing.
    """

    order: NDArray[np.int64]
    mass: NDArray[np.int64]
    ps: int
    bound: int
    shortest: int
    longest: int
    soft: ref.Softmax

    def prefix(self, length: int, columns: int) -> NDArray[np.bool_]:
        """The first `length` columns of the walk as a mask."""
        kept = np.zeros(columns, np.bool_)
        kept[self.order[:length]] = True
        return kept

    def margin(self, length: int, target: int) -> int:
        """Units by which the mass must be off for `target` columns instead of `length`."""
        at = int(self.mass[target - 1]) if target < length else int(self.mass[target - 2])
        return abs(self.ps - at)


def other_prefix(facts: Facts, state: RowState) -> list[RowState]:
    """The side's kept set, where it is a prefix within the bound; the neighbouring ones where the side does not tell.

    The counterfactual renormalises over that set by the reference's arithmetic, weighs and draws again.
    """
    plan, row = facts.model.plan, state.row
    if plan is None or facts.bound[row] < 0 or not crossable(plan, row) or (tells(facts) and facts.same_set(state)):
        return []
    if not tells(facts) and not _near(facts, state):
        return []
    walk = walk_of(facts, row)
    length = int(np.count_nonzero(state.kept))
    return [
        other
        for target in _targets(facts, row, walk, length)
        if (other := cut_to(facts, state, walk, length, target)) is not None
    ]


def crossable(plan: Plan, row: int) -> bool:
    """Whether a mass decides the row's cut."""
    return bool(plan.top_p[row] < 1) and not plan.greedy[row] and plan.min_p31 == 0


def tells(facts: Facts) -> bool:
    """Whether the side tells which columns it kept, or how many."""
    return facts.side.kept is not None or facts.side.kept_count is not None


def _near(facts: Facts, state: RowState) -> bool:
    """Whether a neighbouring set may be in reach: told from the weights, with room for what that leaves open."""
    plan, row = facts.model.plan, state.row
    assert plan is not None
    if plan.filter_order == "top_k_first":
        return True
    kept_share = float(np.exp(np.float64(facts.model.lse[row, 0]) - np.float64(facts.model.lse0[row])))
    mass, last = kept_share * ONE, kept_share * float(state.weights[state.kept].min())
    over = mass - int(plan.ps[row])
    return min(abs(over), abs(over - last)) <= ROOM * int(facts.bound[row])


def walk_of(facts: Facts, row: int) -> Walk:
    """The row's walk at the model's own log-probabilities, with the reach of both sides' arithmetic."""
    plan = facts.model.plan
    assert plan is not None
    x, ps, ks = plan.logits[row], int(plan.ps[row]), int(plan.ks[row])
    lse = facts.model.lse[row]
    soft = ref.Softmax(plan.inv_temperature[row], lse[0], lse[1])
    live = x
    if plan.filter_order == "top_k_first" and ks <= len(x):
        first = ref.cut(x, soft, ONE, ks, False)
        soft = ref.renormalised(x, soft, first.kept)
        live = np.where(first.kept, x, np.float32(-np.inf))
        ks = len(x)
    order = np.argsort(-(live + np.float32(0)), kind="stable")[: int(np.count_nonzero(live > -np.inf))]
    logprob = soft.logprob(x[order])
    weight = ref.weights_of(ref.exp32(logprob)).astype(np.int64)
    mass = np.cumsum(weight)
    bound = _mass_bound(facts, row, soft, logprob, weight)
    most = min(ks, len(order))
    shortest, longest = (min(int(np.searchsorted(mass, ps + off)) + 1, most) for off in (-bound, bound))
    return Walk(order, mass, ps, bound, max(shortest, 1), longest, soft)


def cut_to(facts: Facts, state: RowState, walk: Walk, length: int, target: int) -> RowState | None:
    """The row cut to `target` columns of the walk instead of `length`."""
    plan, row = facts.model.plan, state.row
    assert plan is not None
    x = plan.logits[row]
    kept = walk.prefix(target, len(x))
    soft = ref.renormalised(x, walk.soft, kept)
    weights = np.zeros(len(x), np.uint32)
    weights[kept] = ref.weights_of(ref.exp32(soft.logprob(x[kept])))
    step = Step(CAUSE, f"{target} kept columns for {length}", walk.margin(length, target), walk.bound)
    steps = (*state.steps, step)
    return drawn(facts.rule, facts.order, row, kept, weights, state.words, steps, other_set=True)


def length_chances(facts: Facts, walk: Walk, length: int) -> dict[int, float]:
    """Number of kept columns -> probability, on a side that does not tell it: as the model has it, one more, one less.

    The mass is off by independent errors of exp and of the sum, and by the rounding of lse0.
    """
    one = facts.side.arithmetic
    spread = ROUNDING_VARIANCE + float(one.sum_variance(np.asarray(float(len(walk.order))), facts.size.columns, False))
    rounding = float(np.spacing(np.abs(walk.soft.lse0))) / U
    noise = UNITS * float(np.sqrt(2 * one.exp_std**2 + spread + rounding**2 / 12))
    less = float(ndtr((walk.mass[length - 2] - walk.ps) / noise)) if length - 1 >= walk.shortest else 0.0
    more = float(ndtr((walk.ps - walk.mass[length - 1]) / noise)) if length + 1 <= walk.longest else 0.0
    return {length: 1 - less - more, length - 1: less, length + 1: more}


def _targets(facts: Facts, row: int, walk: Walk, length: int) -> list[int]:
    if facts.side.kept_count is not None:
        told = int(facts.side.kept_count[row])
        return [told] if walk.shortest <= told <= walk.longest and told != length else []
    return [target for target in (length + 1, length - 1) if walk.shortest <= target <= walk.longest]


def _mass_bound(
    facts: Facts, row: int, soft: ref.Softmax, logprob: NDArray[np.float32], weight: NDArray[np.int64]
) -> int:
    """How far the two sides' accumulated masses may lie apart, in units: as the bound of the totals, for a softmax that
    is not yet renormalised."""
    share = weight / ONE
    one = np.ones(1)
    size = RowSize(
        entropy=one * float((share * np.abs(np.where(weight > 0, logprob, 0))).sum()),
        log_mass=one * abs(float(soft.lse0)),
        lse_spacing=one * float(np.spacing(np.abs(soft.lse0))),
        kept=one * len(weight),
        floored=one * np.count_nonzero((weight > 0) & (weight < 2**23)),
        sums=one * float(facts.size.sums[row]),
        columns=facts.size.columns,
    )
    sides = facts.model.arithmetic, facts.side.arithmetic
    return int(np.ceil(sum(side_error(one_side, size)[0] for one_side in sides) + floor_error(size.floored)[0]))

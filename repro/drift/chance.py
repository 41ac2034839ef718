"""The chance of each token on a side of which only the arithmetic is known: one row of the prediction.

The side's lse0 is followed through its float32 roundings (mass, log, difference), which are common to every
implementation, for a few equally likely errors of its exp and sums (`NODES`). For each lse0 the weights are known but
for the noise of exp, and with them the total, its side of the step, and the draw.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from deepinfer.sampling.spec import ONE
from repro.drift.contract import UNITS, U, floor_error
from repro.drift.draws import index_below, residue_of
from repro.drift.state import Facts, Mask, RowState

F64 = NDArray[np.float64]
Spread = list[tuple[float, float]]
"""(value, probability), the values representable in float32."""
NODES = 16
QUANTILES = ndtri((np.arange(NODES) + 0.5) / NODES)
FEW_VALUES = 16
"""A row of at most this many distinct kept logits: equal addends round alike, and rows of the same values err alike."""
JUST_BELOW = 2 * (ONE - 1)
"""The limit of a total just below the step; ONE is that of a total on it."""


@dataclass(frozen=True)
class Possible:
    """One way in which the side may have drawn: its total, on the side of the step that it says, its token, and the
    probability of all that."""

    total: int
    token: int
    chance: float


@dataclass(frozen=True)
class Columns:
    """Some columns of a row: `scaled` is (x - max) / T, the addend of lse0 in lp (its subtraction is one float32
    rounding); `values` are its distinct values and `counts` how many columns hold each: equal logits share errors."""

    scaled: F64
    values: F64
    counts: F64


def possible_draws(facts: Facts, state: RowState, kept: Mask) -> list[Possible]:
    """How the side may have drawn this row, if it kept the columns `kept`. The probabilities sum to one."""
    columns = np.flatnonzero(kept) if facts.order is None else facts.order[kept[facts.order]]
    held = _columns(facts, state.row, columns)
    exp_noise = _exp_noise(facts, held, float(facts.model.lse0[state.row]))
    noise = _total_noise(facts, state.row, exp_noise)
    step = _least_change(facts, state.row, held)
    found = []
    for lse0, share in _lse_in_force(facts, state.row, held, exp_noise):
        edges = np.cumsum(np.floor(_exp(held.scaled, lse0) * ONE))
        total = int(edges[-1])
        for limit, part in _limits(facts, state.row, total, step, noise):
            shown = total if facts.rule != "modulo_reject" else max(total, ONE) if limit == ONE else min(total, ONE - 1)
            for place, chance in _places(facts, state, edges, limit, noise):
                found.append(Possible(shown, int(columns[place]), share * part * chance))
    return found


def settled(facts: Facts) -> Mask:
    """Rows whose token no plausible error changes, bool[Q]: the same columns, and 8 deviations of every noise, with the
    roundings of lse0, reach neither the step nor an edge of the token's interval. Its chance is taken for 1."""
    one, size, side = facts.side.arithmetic, facts.size, facts.side
    exp_noise = np.hypot(one.exp_std, one.exp_std_slope * size.entropy)
    noise = 8 * UNITS * np.sqrt(2 * exp_noise**2 + one.sum_variance(size.kept, size.columns, alike=True))
    rounding = ONE * 2 * (size.lse_spacing + np.spacing(size.log_mass.astype(np.float32)))
    reach = noise + rounding + UNITS * size.entropy + floor_error(size.floored)
    edge = np.asarray([0 if state is None else interval_margin(state) for state in facts.own])
    beside = np.abs(facts.total - ONE) > reach
    if side.total is not None:
        beside = (facts.total < ONE) == (side.total < ONE)
    return np.asarray(facts.equal_set & (beside | (facts.rule != "modulo_reject")) & (edge > 2 * reach))


def interval_margin(state: RowState) -> int:
    """How far the residue lies inside its column's interval, in units."""
    low = int(state.edges[state.place - 1]) if state.place else -1
    return min(state.residue - low, int(state.edges[state.place]) - state.residue)


def _columns(facts: Facts, row: int, columns: NDArray[np.int64]) -> Columns:
    plan = facts.model.plan
    assert plan is not None
    x = plan.logits[row]
    scaled = (x[columns] - x.max()).astype(np.float64) * np.float64(plan.inv_temperature[row])
    ordered = np.sort(scaled)
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return Columns(scaled, ordered[first], np.diff(np.append(first, len(ordered))).astype(np.float64))


def _exp(scaled: F64, lse0: float) -> F64:
    """exp(lp), both in float32."""
    logprob = (scaled + lse0).astype(np.float32)
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(logprob.astype(np.float64)).astype(np.float32).astype(np.float64))


def _lse_in_force(facts: Facts, row: int, held: Columns, exp_noise: float) -> Spread:
    """What the lse0 of the side's draw can be: told, the one before the cut, or that less log of the kept mass."""
    plan, side = facts.model.plan, facts.side
    assert plan is not None
    if side.lse0 is not None and np.isfinite(side.lse0[row]):
        return [(float(side.lse0[row]), 1.0)]
    before = _lse_before(facts, row)
    if not plan.cut[row]:
        return before
    found: dict[float, float] = defaultdict(float)
    for lse0, share in before:
        for log, part in _logs(facts, held, lse0, exp_noise):
            found[float(np.float32(lse0 - log))] += share * part
    return sorted(found.items())


def _lse_before(facts: Facts, row: int) -> Spread:
    """What the side's lse0 before the cut can be; told by most recordings."""
    side, plan = facts.side, facts.model.plan
    if side.lse is not None and np.isfinite(side.lse[row, 0]):
        return [(float(side.lse[row, 0]), 1.0)]
    assert plan is not None
    live = _columns(facts, row, np.flatnonzero(plan.logits[row] > -np.inf))
    exp_noise = _exp_noise(facts, live, float(facts.model.lse[row, 0]))
    return [(-log, share) for log, share in _logs(facts, live, 0.0, exp_noise)]


def _logs(facts: Facts, held: Columns, lse0: float, exp_noise: float) -> Spread:
    """log of the sum of exp(scaled + lse0), rounded as float32 arithmetic rounds it, under the noise of exp and sum."""
    one = facts.side.arithmetic
    mass = float((held.counts * _exp(held.values, lse0)).sum())
    count, alike = np.asarray(float(len(held.scaled))), len(held.values) <= FEW_VALUES
    sum_noise = one.sum_variance(count, facts.size.columns, alike)
    noise = float(np.sqrt(exp_noise**2 + sum_noise)) * U
    logs = np.log((mass * (1 + noise * QUANTILES)).astype(np.float32).astype(np.float64)).astype(np.float32)
    shares: dict[float, float] = defaultdict(float)
    for log, times in Counter(logs.tolist()).items():
        ulp = float(np.spacing(np.float32(abs(log))))
        for value, chance in ((log, 1 - one.log_off), (log - ulp, one.log_off / 2), (log + ulp, one.log_off / 2)):
            shares[value] += chance * times / NODES
    return [(value, share) for value, share in shares.items() if share > 0]


def _exp_noise(facts: Facts, held: Columns, lse0: float) -> float:
    """Standard deviation, in u, of a sum of exps relative to itself: one independent error for each distinct value."""
    of_value = held.counts * np.exp(held.values + lse0)
    noise = facts.side.arithmetic.exp_noise(held.values + lse0)
    return float(np.sqrt(((of_value * noise) ** 2).sum()) / of_value.sum())


def _total_noise(facts: Facts, row: int, exp_noise: float) -> float:
    """Standard deviation, in units, of the side's total given its lse0: exp, and the fractions that the floors drop."""
    return float(np.hypot(exp_noise * U * ONE, np.sqrt(facts.size.floored[row] / 6))) if exp_noise else 0.0


def _least_change(facts: Facts, row: int, held: Columns) -> float:
    """What one ULP of exp changes the total by: every column at once where all hold one value, else a unit."""
    if len(held.values) > 1:
        return 1.0
    probability = np.float32(np.exp(held.values[0] + float(facts.model.lse0[row])))
    return max(float(held.counts[0] * np.spacing(probability) * ONE), 1.0)


def _limits(facts: Facts, row: int, total: int, step: float, noise: float) -> list[tuple[int, float]]:
    """The limits under which the side draws, with probabilities: certain where its own total is known, else the chance
    of as many steps as take the total across."""
    if facts.rule != "modulo_reject":
        return [(2**32, 1.0)]
    if facts.side.total is not None:
        high = float(facts.side.total[row] >= ONE)
    elif noise:
        high = float(ndtr((0.5 - np.ceil((ONE - total) / step)) * step / noise))
    else:
        high = float(total >= ONE)
    return [(limit, part) for limit, part in ((ONE, high), (JUST_BELOW, 1 - high)) if part > 0]


def _places(facts: Facts, state: RowState, edges: F64, limit: int, noise: float) -> list[tuple[int, float]]:
    """The place of the draw under `limit`, and its neighbours as far as the noise can move an edge past the residue."""
    index = index_below(state.words, limit)
    residue = residue_of(facts.rule, state.words, index, int(edges[-1]))
    place = int(edges.searchsorted(residue, side="right"))
    if not noise:
        return [(place, 1.0)]
    before = float(ndtr((edges[place - 1] - residue - 0.5) / noise)) if place else 0.0
    after = float(ndtr((residue + 0.5 - edges[place]) / noise)) if place + 1 < len(edges) else 0.0
    around = [(place, 1 - before - after), (place - 1, before), (place + 1, after)]
    return [(at, chance) for at, chance in around if chance > 0]

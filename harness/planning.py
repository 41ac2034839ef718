"""How many rows a floor asks for, before any row is drawn.

Exact binomial, one-sided. Power over the rows is a saw-tooth, so there are two answers: the fewest rows that reach it,
and the number from which on any number does. The second is the plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deepinfer.errors import InputError
from harness.agreement import ALPHA, POWER, lower_bound

F64 = NDArray[np.float64]
MOST_ROWS = 2**24
"""Beyond this no plan is made."""


@dataclass(frozen=True)
class Plan:
    """Rows for a floor: to see a true rate below it as drift, or to earn a pass at a true rate above it.

    `rows`: from here on any number reaches `power`. `fewest`: the least number that does. `to_prove`: the rows that
    prove the floor when every one of them is equal (None: no number does).
    """

    floor: float
    true: float
    power: float
    alpha: float
    rows: int
    fewest: int
    to_prove: int | None


def plan(floor: float, true: float, *, power: float = POWER, alpha: float = ALPHA) -> Plan:
    """The rows with which a true rate `true` is found to be below, or proven to be above, `floor`."""
    check_shares(floor=floor, true=true, power=power, alpha=alpha)
    if true == floor:
        raise InputError(f"true rate {true} is the floor itself: no number of rows decides; give a rate beside it")
    reached = drift_power if true < floor else pass_power

    def enough(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray(reached(rows, floor, true, alpha) >= power)

    fewest, always = _reach(enough, abs(floor - true), f"floor {floor}, true rate {true}")
    return Plan(floor, true, power, alpha, always, fewest, rows_to_prove(floor, alpha))


def drift_power(rows: Any, floor: float, true: float, alpha: float = ALPHA) -> F64:
    """The chance that `rows` rows of the true rate have their upper bound below `floor`."""
    at_most = _most_drifting(np.asarray(rows, np.float64), floor, alpha)
    return _cdf(at_most, rows, true)


def pass_power(rows: Any, floor: float, true: float, alpha: float = ALPHA) -> F64:
    """The chance that `rows` rows of the true rate have their lower bound at `floor` or above."""
    count = np.asarray(rows, np.float64)
    # as drift of the mismatches: at most so many mismatches that more than 1 - floor of them is implausible
    mismatches = _most_drifting(count, 1 - floor, alpha, strict=False)
    return _cdf(mismatches, count, 1 - true)


def rows_to_prove(floor: float, alpha: float = ALPHA) -> int | None:
    """The fewest rows that prove `floor` when all are equal; None for a floor of 1, which is no rate's."""
    if floor >= 1:
        return None
    if floor <= 0:
        return 1
    near = max(1, math.floor(math.log(alpha) / math.log(floor)) - 1)
    return next(rows for rows in range(near, near + 4) if lower_bound(rows, rows, alpha) >= floor)


def provable(rows: int, floor: float, alpha: float = ALPHA) -> bool:
    """Whether `rows` rows can prove `floor` at all; a floor of 1 is a claim about the rows and needs no proof."""
    needed = rows_to_prove(floor, alpha)
    return needed is None or rows >= needed


def check_provable(rows: int, floor: float, alpha: float = ALPHA) -> None:
    """Raise InputError where `rows` rows cannot prove `floor`."""
    if not provable(rows, floor, alpha):
        raise InputError(
            f"{rows} rows cannot prove a floor of {100 * floor:.6g} %: all equal they prove"
            f" {math.floor(1e4 * lower_bound(rows, rows, alpha)) / 100:.6g} %; lower the floor, or bring"
            f" {rows_to_prove(floor, alpha)} rows"
        )


def check_shares(**shares: float) -> None:
    """Raise InputError for a share outside (0, 1); a floor and a true rate may be 1 as well."""
    for name, value in shares.items():
        closed = name in ("floor", "true")
        if not (0 < value < 1 or (closed and value == 1)):
            raise InputError(f"{name} {value!r}: give a share above 0 and {'at most' if closed else 'below'} 1")
    if shares.get("floor") == 1 and "true" in shares:
        raise InputError("floor 1 is a claim about the rows compared, not about a rate: there is nothing to plan")


def _reach(enough: Callable[[NDArray[np.int64]], NDArray[np.bool_]], apart: float, what: str) -> tuple[int, int]:
    """The least number of rows that is enough, and the least from which on every number is.

    A crossing is bisected; around it everything within a few teeth is looked at (a tooth is about 1 / `apart` rows
    long), and more until the lower quarter of what was looked at has no row enough and the upper quarter none too few.
    """
    high = 2
    while not enough(np.asarray([high]))[0]:
        high *= 2
        if high > MOST_ROWS:
            raise InputError(f"{what}: more than {MOST_ROWS} rows are needed; give rates further apart")
    low = 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(np.asarray([middle]))[0] else (middle, high)
    width = int(8 / apart) + 64
    while True:
        rows = np.arange(max(1, high - width), high + width)
        found = enough(rows)
        quarter = len(rows) // 4
        if found[-quarter:].all() and (rows[0] == 1 or not found[:quarter].any()):
            gaps = np.flatnonzero(~found)
            return int(rows[np.argmax(found)]), int(rows[gaps[-1]]) + 1 if gaps.size else 1
        width *= 2


def _most_drifting(rows: F64, floor: float, alpha: float, strict: bool = True) -> F64:
    """The largest count whose chance of at most that many, at a true rate `floor`, is below `alpha` (-1: none); not
    `strict`: at most `alpha`."""
    guess = rows * floor + special.ndtri(alpha) * np.sqrt(rows * floor * (1 - floor))
    count = np.clip(np.floor(guess), -1, rows)

    def unlikely(at: F64) -> NDArray[np.bool_]:
        chance = _cdf(at, rows, floor)
        return np.asarray(chance < alpha if strict else chance <= alpha)

    while (low := ~unlikely(count) & (count >= 0)).any():
        count = count - low
    while (high := unlikely(count + 1) & (count < rows)).any():
        count = count + high
    return np.asarray(count, np.float64)


def _cdf(count: F64, rows: Any, rate: float) -> F64:
    """P(X <= count) of the binomial; 0 below 0, 1 from `rows` on."""
    total = np.asarray(rows, np.float64)
    inside = (count >= 0) & (count < total)
    safe = np.where(inside, count, 0.0)
    chance = special.betainc(np.maximum(total - safe, 1e-300), safe + 1, 1 - rate)
    return np.asarray(np.where(inside, chance, np.where(count < 0, 0.0, 1.0)), np.float64)

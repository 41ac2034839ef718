"""Defects put into one output on purpose, each of which its rule must refuse: what a canary sends out.

A side is {NAME: array}, for rows of unequal length with NAME.lengths. The arrays given are never written to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import bits
from harness.nested import LENGTHS
from harness.rules import Agreement, Bitwise, OrderedSet, Rule, SameSet, Tolerance, Ulp

Array = NDArray[Any]
Side = Mapping[str, Array]


@dataclass(frozen=True)
class Target:
    """One output that its rule let pass: both sides, and what the rule goes by. `seed` picks the place. `floor` is the
    raw one of an agreement, None where only the residual rate is held to a floor."""

    name: str
    rule: Rule
    baseline: Side
    candidate: Side
    seed: int
    floor: float | None = None
    proven: NDArray[np.bool_] | None = None
    key: Array | None = None

    @property
    def values(self) -> Array:
        return self.candidate[self.name]


@dataclass(frozen=True)
class Attack:
    """The candidate's side with one defect, named as a report names it."""

    name: str
    candidate: Side


def first_attacks(target: Target) -> Iterator[Attack]:
    """The output dropped, and the smallest change that the rule must refuse."""
    yield Attack("the output is dropped", {})
    rule, values = target.rule, target.values
    if isinstance(rule, SameSet):
        rows = np.arange(len(values)) if target.proven is None else np.flatnonzero(~target.proven)
        if len(rows):
            row = rows[target.seed % len(rows)]
            column = target.seed % values.shape[1]
            yield _changed(target, "one column of one row is flipped", (row, column), ~target.baseline[target.name])
    elif isinstance(rule, OrderedSet):
        yield from _order_attacks(target)
    elif isinstance(rule, Agreement):
        if target.floor is not None:
            yield _under_the_floor(target)
    else:
        yield _just_beyond(target)


def more_attacks(target: Target, other: Array | None) -> Iterator[Attack]:
    """Zeros, rows moved by one, the sign of the largest element (where a rule has no scale beside which it may be
    nothing), a shorter row, and `other`, another case's output.

    One that leaves every bit of the candidate as the baseline has it is no attack and is left out.
    """
    values = target.values
    zeros = np.zeros_like(values)
    wanted = [("all zeros stand for it", zeros), ("its rows are moved by one", np.roll(values, 1, axis=0))]
    relative = isinstance(target.rule, Ulp) and target.rule.at_least is None and values.any()
    if (isinstance(target.rule, Bitwise) or relative) and values.dtype.kind != "b":
        wanted.append(("the sign of its largest element is flipped", _largest_negated(values)))
    if other is not None and other.shape == values.shape and other.dtype == values.dtype:
        wanted.append(("another case's output stands for it", other))
    for name, changed in wanted:
        if bits.differs(target.baseline[target.name], changed).any():
            yield Attack(name, {**target.candidate, target.name: changed})
    lengths = target.candidate.get(target.name + LENGTHS)
    if lengths is not None:
        shorter = lengths.copy()
        shorter[int(lengths.argmax())] -= 1
        yield Attack("one row is an entry shorter", {**target.candidate, target.name + LENGTHS: shorter})


def _changed(target: Target, name: str, index: tuple[Any, ...], source: Array) -> Attack:
    changed = target.values.copy()
    changed[index] = source[index]
    return Attack(name, {**target.candidate, target.name: changed})


def _flipped(array: Array) -> Array:
    """Every element with its lowest bit flipped."""
    return (bits.bits_of(array) ^ bits.bits_of(array).dtype.type(1)).view(array.dtype).reshape(array.shape)


def _under_the_floor(target: Target) -> Attack:
    """As few equal rows changed as take the measured agreement under its floor; every row, where none do."""
    assert target.floor is not None
    a, b = target.baseline[target.name], target.values
    shared = tuple(slice(0, min(sides)) for sides in zip(a.shape, b.shape, strict=True))
    equal = np.flatnonzero(~bits.differs(a[shared], b[shared]).reshape(len(a), -1).any(axis=1))
    rows = equal[most_under(target.floor, len(a)) :]
    changed = b.copy()
    changed[rows] = _flipped(b[rows])
    return Attack("rows are changed until the floor is missed", {**target.candidate, target.name: changed})


def most_under(floor: float, rows: int) -> int:
    """The largest number of rows whose share lies below `floor`; 0 where none does."""
    return max(0, math.ceil(floor * rows) - 1)


def _order_attacks(target: Target) -> Iterator[Attack]:
    """Two neighbours swapped that are not tied (strict: any two), and an id repeated in its list."""
    rule, a, b = target.rule, target.baseline[target.name], target.values
    assert isinstance(rule, OrderedSet)
    apart = a[:, 1:] != a[:, :-1]
    if rule.ties == "any" and target.key is not None:
        apart &= _keys_beside(rule, a, target.key)
    if apart.any():
        row, place = np.argwhere(apart)[target.seed % int(apart.sum())]
        swapped = a.copy()
        swapped[row, [place, place + 1]] = a[row, [place + 1, place]]
        yield Attack("two neighbours that are not tied are swapped", {target.name: swapped})
    several = a[:, 1:] != a[:, :1]
    if several.any():
        row, place = np.argwhere(several)[0]
        repeated = b.copy()
        repeated[row] = a[row]
        repeated[row, place + 1] = a[row, 0]
        yield Attack("an id is repeated in its list", {target.name: repeated})
    else:
        yield Attack("another id stands in every list", {target.name: b ^ b.dtype.type(1)})


def _keys_beside(rule: OrderedSet, ids: Array, key: Array) -> NDArray[np.bool_]:
    """Where an id and its right neighbour have different keys."""
    if rule.by == "id":
        known = (ids >= 0) & (ids < key.shape[1])
        key = np.take_along_axis(key, np.where(known, ids, 0).astype(np.int64), 1)
    number = bits.keys(key)
    return np.asarray(number[:, 1:] != number[:, :-1])


def _just_beyond(target: Target) -> Attack:
    """One element moved by little more than the rule allows."""
    a, b = target.baseline[target.name].reshape(-1), target.values
    usable = np.isfinite(a) if bits.float_layout(a.dtype) is not None else np.ones(len(a), np.bool_)
    lengths = target.candidate.get(target.name + LENGTHS)
    if lengths is not None:
        usable &= (np.arange(b.shape[1]) < lengths[:, None]).reshape(-1)
    places = np.flatnonzero(usable) if usable.any() else np.arange(len(a))
    at = int(places[target.seed % len(places)])
    changed = b.copy()
    changed.reshape(-1)[at : at + 1] = moved(target.rule, a[at : at + 1])
    name = "one bit is flipped" if isinstance(target.rule, Bitwise) else "one element is moved just beyond the rule"
    return Attack(name, {**target.candidate, target.name: changed})


def moved(rule: Rule, value: Array) -> Array:
    """One element (an array of one) at little more than the distance that `rule` allows, towards zero or past it."""
    if isinstance(rule, Bitwise):
        return _flipped(value)
    layout = bits.float_layout(value.dtype)
    if isinstance(rule, Ulp) and rule.at_least is None:
        return _keys_away(value, rule.n + 1)
    assert layout is not None
    x = float(value[0])
    if not np.isfinite(x):
        return np.zeros_like(value)
    if isinstance(rule, Ulp):
        assert rule.at_least is not None
        _, exponent = np.frexp(max(abs(x), rule.at_least))
        step = (rule.n + 2) * float(np.ldexp(1.0, int(exponent) - 1 - layout.mantissa))
    else:
        assert isinstance(rule, Tolerance)
        step = 1.5 * (rule.atol + rule.rtol * abs(x))
    other = np.asarray([x - step if x >= 0 else x + step]).astype(value.dtype)
    return other if bits.keys(other)[0] != bits.keys(value)[0] else _keys_away(value, 1)


def _keys_away(value: Array, steps: int) -> Array:
    """The number that lies `steps` representable numbers away, downwards where there are as many."""
    layout = bits.float_layout(value.dtype)
    if layout is not None:
        low = (1 << (layout.bits - 1)) - layout.finite
    else:
        low = int(bits.keys(np.asarray([np.iinfo(value.dtype).min], value.dtype))[0])
    key = int(bits.keys(value)[0])
    to = key - steps if key - low >= steps else min(key + steps, 2**64 - 1)
    return bits.from_keys(np.asarray([to], np.uint64), value.dtype)


def _largest_negated(values: Array) -> Array:
    """`values` with the top bit of the element of the largest magnitude flipped."""
    top = bits.bits_of(values)
    flat = top.reshape(-1).copy()
    if bits.float_layout(values.dtype) is not None:
        with np.errstate(invalid="ignore"):  # a signalling NaN raises even when it is only read
            size = np.abs(values.reshape(-1).astype(np.float64))
        at = int(np.argmax(np.where(np.isfinite(size), size, -1)))
    else:
        at = int(flat.argmax())
    flat[at] ^= flat.dtype.type(1 << (8 * values.dtype.itemsize - 1))
    return flat.view(values.dtype).reshape(values.shape)

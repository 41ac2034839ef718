"""Rows of logits as tiles, and the cut, for the `exact_sample` kernel (docs/spec/sampling.md, D, steps 1 to 3).

A program answers a block of rows: per-row values are vectors [rows], elements [rows, tile]. Sums over columns are int64
and exact (2^63, the largest, is -2^63 there, so `sum > x` is written `sum - 1 >= x`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from deepinfer.sampling.exact_sample.triton_arithmetic import weights

LEAST = tl.constexpr(-3.4028234663852886e38)
"""The least finite float32."""


class Block(NamedTuple):
    """The rows of one program. Where one tile holds a row, `held` are its logits and `weight` its weights, else both
    are None and every pass loads and weighs the logits again. `offset` [1, tile]; `tiles` of them make a row."""

    logits: Any
    row: Any
    inside: Any
    top: Any
    c: Any
    offset: Any
    columns: Any
    tiles: Any
    held: Any
    weight: Any


class Goal(NamedTuple):
    """The walk down the logits ends where its columns reach `count` or, `by_mass`, its mass exceeds `mass`."""

    count: Any
    mass: Any
    by_mass: Any


class Cut(NamedTuple):
    """Selected: logits above `threshold`, and those equal to it up to column `last`. The selected ones of these two
    kinds have the mass `mass` and `taken` * `each`."""

    threshold: Any
    last: Any
    mass: Any
    taken: Any
    each: Any


@triton.jit
def load(logits, row, inside, offset, index, columns):  # type: ignore[no-untyped-def]
    """The logits [rows, tile] of tile `index`, -inf outside; both zeros are +0."""
    column = index * offset.shape[1] + offset
    x = tl.load(
        logits + row[:, None] * columns + column, mask=inside[:, None] & (column < columns), other=float("-inf")
    )
    return tl.where(x == 0.0, 0.0, x)


@triton.jit
def fetch(block, index):  # type: ignore[no-untyped-def]
    """(logits, weights [rows, tile], columns [1, tile]) of tile `index`."""
    x, weight = block.held, block.weight
    if block.held is None:
        x = load(block.logits, block.row, block.inside, block.offset, index, block.columns)
        weight = weights(x, block.top[:, None], block.c[:, None])
    return x, weight, index * block.offset.shape[1] + block.offset


@triton.jit  # type: ignore[untyped-decorator]
def filled(block, value, dtype: tl.constexpr):  # type: ignore[no-untyped-def]
    return tl.full([block.row.shape[0], block.offset.shape[1]], value, dtype)


@triton.jit
def key_of(x):  # type: ignore[no-untyped-def]
    """The place of a float other than -0 in the order of floats, int64."""
    bits = x.to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)


@triton.jit
def float_of(key):  # type: ignore[no-untyped-def]
    """The float at place `key`."""
    bits = key.to(tl.int32)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.float32, bitcast=True)


@triton.jit  # type: ignore[untyped-decorator]
def from_here(block, pivot, strict: tl.constexpr):  # type: ignore[no-untyped-def]
    """Mass int64 and number int32 of each row's columns at or above `pivot` (above it, if `strict`)."""
    mass = filled(block, 0, tl.int64)
    number = filled(block, 0, tl.int32)
    for index in range(block.tiles):
        x, weight, _ = fetch(block, index)
        hit = x >= pivot[:, None]
        if strict:
            hit = x > pivot[:, None]
        mass += tl.where(hit, weight, 0)
        number += hit.to(tl.int32)
    return tl.sum(mass, axis=1), tl.sum(number, axis=1)


@triton.jit
def reached(block, pivot, goal):  # type: ignore[no-untyped-def]
    """Whether the walk of each row has ended by the time it has passed `pivot`."""
    mass, number = from_here(block, pivot, False)
    return (number >= goal.count) | (goal.by_mass & (mass - 1 >= goal.mass))


@triton.jit
def largest_below(block, bound):  # type: ignore[no-untyped-def]
    """The largest logit of each row below `bound`, -inf if there is none."""
    part = filled(block, float("-inf"), tl.float32)
    for index in range(block.tiles):
        x, _, _ = fetch(block, index)
        part = tl.maximum(part, tl.where(x < bound[:, None], x, float("-inf")))
    return tl.max(part, axis=1)


@triton.jit
def narrowed(lo, hi, place, hit):  # type: ignore[no-untyped-def]
    """The bracket [lo, hi) after a look at `place`; one that holds a single key stays as it is."""
    wide = hi - lo > 1
    return tl.where(wide & hit, place, lo), tl.where(wide & (hit == 0), place, hi)


@triton.jit
def walk_end(block, goal, wanted, halvings):  # type: ignore[no-untyped-def]
    """The logit at which the walk of each row ends; -inf where not `wanted`. A wanted row's walk ends above -inf.

    Every look narrows a bracket of keys rightly, wherever it is taken: that is a matter of speed. First `halvings` in
    the middle of the bracket's values, none below the weights' reach; then, by turns, at the largest logit inside,
    which ends the search if the walk does, and at the middle key.
    """
    lo = key_of(tl.full(block.row.shape, float("-inf"), tl.float32))
    hi = tl.where(wanted, key_of(block.top) + 1, lo + 1)
    floor = tl.maximum(block.top - tl.div_rn(44.0, tl.maximum(block.c, 1e-30)), LEAST)
    turns = tl.where(tl.max(wanted.to(tl.int32), axis=0) > 0, halvings, 0)
    for _ in range(turns):
        middle = tl.maximum(float_of(lo), floor) * 0.5 + float_of(hi) * 0.5
        place = tl.minimum(tl.maximum(key_of(tl.where(middle == 0.0, 0.0, middle)), lo + 1), hi - 1)
        lo, hi = narrowed(lo, hi, place, reached(block, float_of(place), goal))
    while tl.max(hi - lo, axis=0) > 1:
        value = largest_below(block, float_of(hi))
        hit = reached(block, value, goal)
        last = hit & (hi - lo > 1)
        lo, hi = narrowed(lo, hi, key_of(value), hit)
        hi = tl.where(last, lo + 1, hi)
        place = (lo + hi) >> 1
        lo, hi = narrowed(lo, hi, place, reached(block, float_of(place), goal))
    return float_of(lo)


@triton.jit
def cut_rows(block, goal, wanted, halvings):  # type: ignore[no-untyped-def]
    """The Cut of the rows `wanted`; elsewhere nothing is below the threshold, -inf."""
    threshold = walk_end(block, goal, wanted, halvings)
    mass, number = from_here(block, threshold, True)
    each = tl.maximum(weights(threshold, block.top, block.c), 1)
    by_count = goal.count - number
    by_mass = (goal.mass - mass) // each + 1
    taken = tl.where(goal.by_mass, tl.minimum(by_count, by_mass), by_count)
    last = last_tie(block, threshold, tl.where(wanted, taken, block.columns))
    return Cut(threshold, last, mass, taken, each)


@triton.jit
def last_tie(block, threshold, taken):  # type: ignore[no-untyped-def]
    """The column of the last of the first `taken` columns that equal `threshold`, -1 if there is none."""
    last = tl.full(block.row.shape, -1, tl.int32)
    before = tl.zeros(block.row.shape, tl.int64)
    for index in range(block.tiles):
        x, _, column = fetch(block, index)
        tie = (x == threshold[:, None]).to(tl.int32)
        rank = before[:, None] + tl.cumsum(tie, axis=1)
        last = tl.maximum(last, tl.max(tl.where((tie > 0) & (rank <= taken[:, None]), column, -1), axis=1))
        before += tl.sum(tie, axis=1)
    return last


@triton.jit
def selected(x, column, cut):  # type: ignore[no-untyped-def]
    """Which elements `cut` selects."""
    return (x > cut.threshold[:, None]) | ((x == cut.threshold[:, None]) & (column <= cut.last[:, None]))

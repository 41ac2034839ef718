"""Rows of logits as tiles, and the cut, for the `exact_sample` kernel (docs/spec/sampling.md, D, steps 1 to 3).

A program answers a block of rows: per-row values are vectors [rows], elements [rows, tile]. Sums over columns are int64
and exact (2^63, the largest, is -2^63 there, so `sum > x` is written `sum - 1 >= x`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from deepinfer.sampling.exact_sample.triton_arithmetic import ONE, weights

LEAST = tl.constexpr(-3.4028234663852886e38)
"""The least finite float32."""
NOWHERE = tl.constexpr(-2139095041)
"""The key of -inf."""


class Block(NamedTuple):
    """The rows of one program: `offset` [1, tile], of which `tiles` make a row of `columns`.

    Where one tile holds a row, `key` and `weight` are its logits' places in the order of floats (int32, one for both
    zeros) and its weights; else both are None, and every pass loads and weighs the logits again.
    """

    logits: Any
    row: Any
    inside: Any
    top: Any
    c: Any
    offset: Any
    columns: Any
    tiles: Any
    key: Any
    weight: Any


class Goal(NamedTuple):
    """The walk down the logits ends where its columns reach `count` or, `by_mass`, its mass exceeds `mass`."""

    count: Any
    mass: Any
    by_mass: Any


class Cut(NamedTuple):
    """Selected: columns whose key is above `key`, and those that have it up to column `last`. The former have the mass
    `mass`; of the latter `taken` are selected, of weight `each`."""

    key: Any
    last: Any
    mass: Any
    taken: Any
    each: Any


@triton.jit
def key_of(x):  # type: ignore[no-untyped-def]
    """The place of a float in the order of floats, int32; both zeros are at 0."""
    bits = x.to(tl.int32, bitcast=True)
    return tl.where(x == 0.0, 0, tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits))


@triton.jit
def float_of(key):  # type: ignore[no-untyped-def]
    """The float at place `key`."""
    bits = key.to(tl.int32)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.float32, bitcast=True)


@triton.jit
def load(logits, row, inside, column, columns):  # type: ignore[no-untyped-def]
    """The logits [rows, n] of columns [1, n] or [rows, n], -inf outside."""
    at = logits + row[:, None] * columns + column
    return tl.load(at, mask=inside[:, None] & (column < columns), other=float("-inf"))


@triton.jit
def fetch(block, index):  # type: ignore[no-untyped-def]
    """(keys, weights [rows, tile], columns [1, tile]) of tile `index`."""
    column = index * block.offset.shape[1] + block.offset
    key, weight = block.key, block.weight
    if block.key is None:
        x = load(block.logits, block.row, block.inside, column, block.columns)
        key, weight = key_of(x), weights(x, block.top[:, None], block.c[:, None])
    return key, weight, column


@triton.jit
def walked(block, pivot):  # type: ignore[no-untyped-def]
    """Mass int64 and number int32 of each row's columns whose key is at or above `pivot`."""
    if block.key is not None:
        hit = block.key >= pivot[:, None]
        return tl.sum(tl.where(hit, block.weight, 0), axis=1), tl.sum(hit.to(tl.int32), axis=1)
    mass = tl.full([block.row.shape[0], block.offset.shape[1]], 0, tl.int64)
    number = tl.full([block.row.shape[0], block.offset.shape[1]], 0, tl.int32)
    for index in range(block.tiles):
        key, weight, _ = fetch(block, index)
        hit = key >= pivot[:, None]
        mass += tl.where(hit, weight, 0)
        number += hit.to(tl.int32)
    return tl.sum(mass, axis=1), tl.sum(number, axis=1)


@triton.jit
def look(block, goal, lo, hi, place):  # type: ignore[no-untyped-def]
    """The brackets [lo, hi) of keys, narrowed by a look at `place`; of one key they stay as they are."""
    mass, number = walked(block, place.to(tl.int32))
    hit = (number >= goal.count) | (goal.by_mass & (mass - 1 >= goal.mass))
    wide = hi - lo > 1
    return tl.where(wide & hit, place, lo), tl.where(wide & (hit == 0), place, hi)


@triton.jit
def walk_end(block, goal, wanted, halvings):  # type: ignore[no-untyped-def]
    """The key of the logit at which the walk of each row ends, int32; that of -inf where not `wanted`. A wanted row's
    walk does end above -inf.

    Every look narrows a bracket rightly, wherever it is taken: that is a matter of speed. First `halvings` in the
    middle of the bracket's values, none below the weights' reach, then in the middle of its keys.
    """
    lo = tl.full(block.row.shape, NOWHERE, tl.int64)
    hi = tl.where(wanted, key_of(block.top).to(tl.int64) + 1, lo + 1)
    floor = tl.maximum(block.top - tl.div_rn(44.0, tl.maximum(block.c, 1e-30)), LEAST)
    for _ in range(tl.where(tl.max(hi - lo, axis=0) > 1, halvings, 0)):
        middle = key_of(tl.maximum(float_of(lo), floor) * 0.5 + float_of(hi) * 0.5)
        lo, hi = look(block, goal, lo, hi, tl.minimum(tl.maximum(middle.to(tl.int64), lo + 1), hi - 1))
    while tl.max(hi - lo, axis=0) > 1:
        lo, hi = look(block, goal, lo, hi, (lo + hi) >> 1)
    return lo.to(tl.int32)


@triton.jit
def cut_rows(block, goal, wanted, halvings):  # type: ignore[no-untyped-def]
    """The Cut of the rows `wanted`; elsewhere nothing is below its key, that of -inf."""
    key = walk_end(block, goal, wanted, halvings)
    mass, number = walked(block, key + 1)
    each = tl.maximum(weights(float_of(key), block.top, block.c), 1)
    by_count = goal.count - number
    by_mass = (goal.mass - mass) // each + 1
    taken = tl.where(goal.by_mass, tl.minimum(by_count, by_mass), by_count)
    return Cut(key, last_tie(block, key, tl.where(wanted, taken, block.columns)), mass, taken, each)


@triton.jit
def last_tie(block, key, taken):  # type: ignore[no-untyped-def]
    """The column of the last of the first `taken` columns that have `key`, -1 if there is none."""
    last = tl.full(block.row.shape, -1, tl.int32)
    before = tl.full(block.row.shape, 0, tl.int64)
    for index in range(block.tiles):
        here, _, column = fetch(block, index)
        tie = here == key[:, None]
        rank = before[:, None] + tl.cumsum(tie.to(tl.int32), axis=1)
        last = tl.maximum(last, tl.max(tl.where(tie & (rank <= taken[:, None]), column, -1), axis=1))
        before += tl.sum(tie.to(tl.int32), axis=1)
    return last


@triton.jit
def kept(key, weight, column, cut, least, greedy, best):  # type: ignore[no-untyped-def]
    """`weight` where a column is selected and has at least the weight `least`, else 0; in a greedy row all weight is on
    column `best`."""
    selected = (key > cut.key[:, None]) | ((key == cut.key[:, None]) & (column <= cut.last[:, None]))
    alone = tl.where(column == best[:, None], ONE, 0)
    return tl.where(greedy[:, None], alone, tl.where(selected & (weight >= least[:, None]), weight, 0))

"""Rows of logits as tiles for the `exact_sample` kernel, and sums over them.

A program answers a block of rows: per-row values are vectors [rows], elements [rows, tile]. Sums over columns are int64
and exact (2^63, the largest, is -2^63 there, so `sum > x` is written `sum - 1 >= x`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from deepinfer.sampling.exact_sample.triton_arithmetic import ONE, weights

NOWHERE = tl.constexpr(-2139095041)
"""The key of -inf."""


class Block(NamedTuple):
    """The rows of one program: `offset` [1, tile], of which `tiles` make a row of `columns`.

    Where one tile holds a row, `key` and `weight` are its logits' places in the order of floats (int32, one for both
    zeros) and its weights. Else both are None, and every pass loads and weighs the logits again: those at `logits`, or
    if `packed` is not None the first `packed` [rows] of the keys at `space`.
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
    space: Any
    packed: Any


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
    """(keys, weights [rows, tile], columns [1, tile]) of tile `index`; of packed keys the columns mean nothing."""
    column = index * block.offset.shape[1] + block.offset
    key, weight = block.key, block.weight
    if block.key is None:
        if block.packed is None:
            x = load(block.logits, block.row, block.inside, column, block.columns)
            key = key_of(x)
        else:
            at = block.space + block.row[:, None] * block.columns + column
            key = tl.load(at, mask=column < block.packed[:, None], other=NOWHERE)
            x = float_of(key)
        weight = weights(x, block.top[:, None], block.c[:, None])
    return key, weight, column


@triton.jit
def walked(block, pivot):  # type: ignore[no-untyped-def]
    """Mass int64 and number int32 of each row's columns whose key is at or above `pivot`."""
    mass = tl.full([block.row.shape[0], block.offset.shape[1]], 0, tl.int64)
    number = tl.full([block.row.shape[0], block.offset.shape[1]], 0, tl.int32)
    for index in range(block.tiles):
        key, weight, _ = fetch(block, index)
        hit = key >= pivot[:, None]
        mass += tl.where(hit, weight, 0)
        number += hit.to(tl.int32)
    return tl.sum(mass, axis=1), tl.sum(number, axis=1)


@triton.jit
def positive(block):  # type: ignore[no-untyped-def]
    """Mass int64 of each row and number int32 of its columns whose weight is positive."""
    mass = tl.full([block.row.shape[0], block.offset.shape[1]], 0, tl.int64)
    number = tl.full([block.row.shape[0], block.offset.shape[1]], 0, tl.int32)
    for index in range(block.tiles):
        _, weight, _ = fetch(block, index)
        mass += weight
        number += (weight > 0).to(tl.int32)
    return tl.sum(mass, axis=1), tl.sum(number, axis=1)


@triton.jit
def pack(block, lo, hi, turns):  # type: ignore[no-untyped-def]
    """Puts the keys in [lo, hi) that are not that of -inf at `space`, in column order; none of a row where that is a
    single key. Returns how many there are, int32. `turns` is the number of tiles to look at."""
    tl.debug_barrier()  # what lies in `space` may still be read
    wide = (hi - lo > 1)[:, None]
    number = tl.full(block.row.shape, 0, tl.int32)
    for index in range(turns):
        column = index * block.offset.shape[1] + block.offset
        key = key_of(load(block.logits, block.row, block.inside, column, block.columns))
        hit = wide & (key > NOWHERE) & (key >= lo[:, None]) & (key < hi[:, None])
        place = number[:, None] + tl.cumsum(hit.to(tl.int32), axis=1) - 1
        tl.store(block.space + block.row[:, None] * block.columns + place, key, mask=hit)
        number += tl.sum(hit.to(tl.int32), axis=1)
    tl.debug_barrier()
    return number


@triton.jit
def last_tie(block, key, taken, dropped):  # type: ignore[no-untyped-def]
    """The column of the `taken`-th of the columns that have `key`, for the rows `dropped`, which have more of them; the
    number of columns elsewhere."""
    last = tl.full(block.row.shape, 0, tl.int32) + block.columns
    before = tl.full(block.row.shape, 0, tl.int64)
    for index in range(tl.where(tl.max(dropped.to(tl.int32), axis=0) > 0, block.tiles, 0)):
        here, _, column = fetch(block, index)
        tie = here == key[:, None]
        rank = before[:, None] + tl.cumsum(tie.to(tl.int32), axis=1)
        found = tl.max(tl.where(tie & (rank == taken[:, None]), column, -1), axis=1)
        last = tl.where(dropped & (found >= 0), found, last)
        before += tl.sum(tie.to(tl.int32), axis=1)
    return last


@triton.jit
def kept(key, weight, column, cut, least, greedy, best):  # type: ignore[no-untyped-def]
    """`weight` where a column is selected and has at least the weight `least`, else 0; in a greedy row all weight is on
    column `best`."""
    selected = (key > cut.key[:, None]) | ((key == cut.key[:, None]) & (column <= cut.last[:, None]))
    alone = tl.where(column == best[:, None], ONE, 0)
    return tl.where(greedy[:, None], alone, tl.where(selected & (weight >= least[:, None]), weight, 0))

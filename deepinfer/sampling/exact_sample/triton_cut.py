"""Where top-k and top-p end, for the `exact_sample` kernel (docs/spec/sampling.md, D, step 3): bisection, no sort."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from deepinfer.sampling.exact_sample.triton_arithmetic import weights
from deepinfer.sampling.exact_sample.triton_rows import (
    NOWHERE,
    Block,
    Cut,
    float_of,
    key_of,
    last_tie,
    load,
    pack,
    positive,
    walked,
)

LEAST = tl.constexpr(-3.4028234663852886e38)
"""The least finite float32."""


class Goal(NamedTuple):
    """The walk down the logits ends where its columns reach `count` or, `by_mass`, its mass exceeds `mass`."""

    count: Any
    mass: Any
    by_mass: Any


class Bracket(NamedTuple):
    """The walk ends at a key in [lo, hi), int64. Above lies `mass` in `number` columns; at or above lo, `upto` columns.

    Of a row with a single key (hi = lo + 1) nothing changes any more.
    """

    lo: Any
    hi: Any
    mass: Any
    number: Any
    upto: Any


@triton.jit
def begun(block, wanted):  # type: ignore[no-untyped-def]
    """The Bracket of all keys; of a single one, that of -inf, where not `wanted`."""
    lo = tl.full(block.row.shape, NOWHERE, tl.int64)
    none = tl.full(block.row.shape, 0, tl.int32)
    return Bracket(lo, tl.where(wanted, key_of(block.top).to(tl.int64) + 1, lo + 1), lo * 0, none, none)


@triton.jit
def look(block, goal, at, place, mass, number):  # type: ignore[no-untyped-def]
    """The Bracket `at`, narrowed by what lies at or above the key `place`: `mass`, `number` and what `block` has."""
    wide = at.hi - at.lo > 1
    place = tl.minimum(tl.maximum(place.to(tl.int64), at.lo + 1), at.hi - 1)
    more_mass, more = walked(block, place.to(tl.int32))
    mass += more_mass
    number += more
    hit = (number >= goal.count) | (goal.by_mass & (mass - 1 >= goal.mass))
    under, over = wide & hit, wide & (hit == 0)
    return Bracket(
        tl.where(under, place, at.lo),
        tl.where(over, place, at.hi),
        tl.where(over, mass, at.mass),
        tl.where(over, number, at.number),
        tl.where(under, number, at.upto),
    )


@triton.jit  # type: ignore[untyped-decorator]
def closed(block, goal, at, halvings: tl.constexpr):  # type: ignore[no-untyped-def]
    """The Bracket `at`, narrowed to a single key by looks at `block`, which has every column in it.

    Every look narrows it rightly, wherever it is taken: that is a matter of speed. First `halvings` in the middle of
    the bracket's values, none below the weights' reach, then in the middle of its keys.
    """
    mass, number = at.mass, at.number
    floor = tl.maximum(block.top - tl.div_rn(44.0, tl.maximum(block.c, 1e-30)), LEAST)
    looks = 0
    while tl.max(at.hi - at.lo, axis=0) > 1:
        place = (at.lo + at.hi) >> 1
        if halvings > 0:
            middle = tl.maximum(float_of(at.lo), floor) * 0.5 + float_of(at.hi) * 0.5
            place = tl.where(looks < halvings, key_of(middle).to(tl.int64), place)
        at = look(block, goal, at, place, mass, number)
        looks += 1
    return at


@triton.jit  # type: ignore[untyped-decorator]
def bracketed(block, goal, whole, wanted, turns, halvings: tl.constexpr):  # type: ignore[no-untyped-def]
    """The Bracket of the rows `wanted` after two looks at all their tiles (`turns`, 0 where none is wanted).

    An even sample of columns, searched as if it were a row, says where: for the count it speaks from above, for the
    mass from below, where weights are many and small. First a little above where the walk should end, then below.
    """
    step = block.columns // block.offset.shape[1]
    x = load(block.logits, block.row, block.inside, block.offset * step, block.columns)
    weight = weights(x, block.top[:, None], block.c[:, None])
    sample = Block(
        block.logits, block.row, block.inside, block.top, block.c, block.offset, block.columns, 1, key_of(x), weight,
        None, None,
    )  # fmt: skip
    row = Block(
        block.logits, block.row, block.inside, block.top, block.c, block.offset, block.columns, turns, None, None,
        None, None,
    )  # fmt: skip
    every, _ = positive(sample)
    tail, count = (whole - goal.mass) // step, goal.count // step
    at = begun(block, wanted)
    for turn in range(2):
        away = 1 - 2 * turn
        mass = tl.maximum(every - tail - away * (tail // 8), 0)
        end = Goal(tl.maximum(count - away * (count // 8 + 8), 1), mass, goal.by_mass)
        place = closed(sample, end, begun(sample, wanted), halvings)
        at = look(row, goal, at, place.lo, every * 0, count.to(tl.int32) * 0)
    return at


@triton.jit  # type: ignore[untyped-decorator]
def cut_rows(block, goal, whole, wanted, halvings: tl.constexpr, guess: tl.constexpr):  # type: ignore[no-untyped-def]
    """The Cut of the rows `wanted`, whose walk ends above -inf; elsewhere all is selected. `whole` is the mass of all.

    With one tile a row, `block` is searched. Else the keys of the bracket that `guess` finds, or of all, are packed
    and searched.
    """
    at = begun(block, wanted)
    if block.key is None:
        turns = tl.where(tl.max(wanted.to(tl.int32), axis=0) > 0, block.tiles, 0)
        if guess:
            at = bracketed(block, goal, whole, wanted, turns, halvings)
        number = pack(block, at.lo, at.hi, turns)
        tiles = (tl.max(number, axis=0) + block.offset.shape[1] - 1) // block.offset.shape[1]
        left = Block(
            block.logits, block.row, block.inside, block.top, block.c, block.offset, block.columns, tiles, None, None,
            block.space, number,
        )  # fmt: skip
        at = closed(left, goal, at, halvings)
    else:
        at = closed(block, goal, at, halvings)
    key = at.lo.to(tl.int32)
    each = tl.maximum(weights(float_of(key), block.top, block.c), 1)
    by_count = goal.count - at.number
    by_mass = (goal.mass - at.mass) // each + 1
    taken = tl.where(goal.by_mass, tl.minimum(by_count, by_mass), by_count)
    dropped = wanted & (at.upto - at.number > taken)
    return Cut(key, last_tie(block, key, taken, dropped), at.mass, taken, each)

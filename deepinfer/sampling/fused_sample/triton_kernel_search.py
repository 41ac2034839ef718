"""The search of the `fused_sample` kernel for a threshold, by integer amounts (docs/spec/sampling.md, A.3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from deepinfer.sampling.fused_sample.triton_kernel_parts import (
    Block,
    exp_of,
    fetch,
    filled,
    float_of,
    key_of,
    logprob,
    weight_of,
    widened,
)


class Measure(NamedTuple):
    """What is added up to reach `target`: columns where `counting`, else their integer weights by `soft`.

    `amount` holds that of every element where one tile holds the row, else None.
    """

    counting: Any
    amount: Any
    soft: Any
    target: Any


class Bracket(NamedTuple):
    """What is known of each row's threshold: `lo` <= threshold < `hi`, and how much lies at or above both ends."""

    lo: Any
    hi: Any
    at_lo: Any
    at_hi: Any


@triton.jit
def amount_of(x, counting, soft):  # type: ignore[no-untyped-def]
    """What each element adds, uint32."""
    return tl.where(counting, 1, weight_of(exp_of(logprob(x, soft))))


@triton.jit
def at_least(block, measure, pivot):  # type: ignore[no-untyped-def]
    """How much of each row lies at or above `pivot`, int64. Where -inf counts, what is outside the row counts, too."""
    part = filled(block, 0, tl.uint32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        amount = measure.amount
        if measure.amount is None:
            amount = amount_of(x, measure.counting, measure.soft)
        part += tl.where(x >= pivot[:, None], amount, 0)
    return widened(tl.sum(part, axis=1))


@triton.jit
def at_least_both(block, measure, low, high):  # type: ignore[no-untyped-def]
    """`at_least` for two pivots in one walk."""
    low_part = filled(block, 0, tl.uint32)
    high_part = filled(block, 0, tl.uint32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        amount = measure.amount
        if measure.amount is None:
            amount = amount_of(x, measure.counting, measure.soft)
        low_part += tl.where(x >= low[:, None], amount, 0)
        high_part += tl.where(x >= high[:, None], amount, 0)
    if block.held is None:  # Triton 3.6 cannot place a join of what a loop summed
        low_sum, high_sum = tl.sum(low_part, axis=1), tl.sum(high_part, axis=1)
    else:
        low_sum, high_sum = tl.split(tl.sum(tl.join(low_part, high_part), axis=1))
    return widened(low_sum), widened(high_sum)


@triton.jit
def largest_below(block, bound):  # type: ignore[no-untyped-def]
    """The largest logit below `bound` of each row and lane: [rows, tile], -inf where there is none."""
    part = filled(block, float("-inf"), tl.float32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        part = tl.maximum(part, tl.where(x < bound[:, None], x, float("-inf")))
    return part


@triton.jit
def narrowed(bracket, place, amount, measure, rows):  # type: ignore[no-untyped-def]
    """The bracket after a look at `place`, where that is inside, of the given rows."""
    inside = rows & (place > bracket.lo) & (place < bracket.hi)
    hit = inside & (amount >= measure.target)
    miss = inside & (amount < measure.target)
    return Bracket(
        tl.where(hit, place, bracket.lo),
        tl.where(miss, place, bracket.hi),
        tl.where(hit, amount, bracket.at_lo),
        tl.where(miss, amount, bracket.at_hi),
    )


@triton.jit
def settled(block, measure, bracket, base, rows):  # type: ignore[no-untyped-def]
    """The bracket of the given rows with `lo` at the threshold and `hi` such that nothing lies between.

    By turns the largest logit in the bracket, which is the threshold if it reaches the target, and the middle key.
    `base` is added to what `block` shows.
    """
    open = rows
    while tl.max(open.to(tl.int32), axis=0) > 0:
        value = tl.max(largest_below(block, bracket.hi), axis=1)
        amount = base + at_least(block, measure, value)
        found = open & (amount >= measure.target)
        missed = open & (amount < measure.target)
        bracket = Bracket(
            tl.where(found, value, bracket.lo),
            tl.where(missed, value, bracket.hi),
            tl.where(found, amount, bracket.at_lo),
            tl.where(missed, amount, bracket.at_hi),
        )
        open = missed
        low, high = key_of(bracket.lo), key_of(bracket.hi)
        place = float_of((low & high) + ((low ^ high) >> 1))
        bracket = narrowed(bracket, place, base + at_least(block, measure, place), measure, open)
    return bracket


@triton.jit
def threshold_of(block, measure, low, at_low, start, top, rows, lanes: tl.constexpr, steps: tl.constexpr):  # type: ignore[no-untyped-def]
    """(the largest logit at which the target is reached, how much lies above it) of the given rows; `low` elsewhere.

    The amount at `low` is `at_low` and reaches the target. Each look narrows a bracket rightly, so where to look is a
    matter of speed alone: first at `start`, then `steps` times at the thirds of its values. Then few logits are left in
    it. If the largest of each of so many `lanes` account for all of it, they are searched alone.
    """
    nothing = tl.zeros_like(at_low)
    bracket = Bracket(low, tl.where(rows, float_of(key_of(top) + 1), low), at_low, nothing)
    first = tl.maximum(start, -3.4028234663852886e38)
    second = first * 0.5 + top * 0.5
    for _ in range(steps):
        first_amount, second_amount = at_least_both(block, measure, first, second)
        bracket = narrowed(bracket, first, first_amount, measure, rows)
        bracket = narrowed(bracket, second, second_amount, measure, rows)
        bottom = tl.maximum(bracket.lo, -3.4028234663852886e38)
        first = bottom * 0.6666667 + bracket.hi * 0.33333334
        second = bottom * 0.33333334 + bracket.hi * 0.6666667

    few = largest_below(block, bracket.hi)
    if few.shape[1] > lanes:
        few = tl.max(tl.reshape(few, [few.shape[0], few.shape[1] // lanes, lanes]), axis=1)
    size: tl.constexpr = few.shape[1]
    offset = tl.arange(0, size)[None, :]
    small = Block(block.logits, block.row, block.inside, few, None, None, None, None, offset, size, 1)
    small_measure = Measure(
        measure.counting, amount_of(few, measure.counting, measure.soft), measure.soft, measure.target
    )
    base = bracket.at_hi
    shown = base + at_least(small, small_measure, bracket.lo)
    alone = rows & (bracket.lo > float("-inf")) & (shown == bracket.at_lo)
    bracket = settled(small, small_measure, bracket, base, alone)
    bracket = settled(block, measure, bracket, nothing, rows & (alone == 0))
    return bracket.lo, bracket.at_hi

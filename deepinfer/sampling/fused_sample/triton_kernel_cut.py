"""The cut of the `fused_sample` kernel: bisection by integer masses, and ties (docs/spec/sampling.md, A.3 and A.4)."""

from __future__ import annotations

import triton
import triton.language as tl

from deepinfer.sampling.fused_sample.triton_kernel_parts import (
    LEAST,
    Cut,
    exp_of,
    fetch,
    filled,
    float_of,
    key_of,
    logprob,
    probability_at,
    weight_of,
    widened,
)


@triton.jit
def weight_at(block, weight, soft, x):  # type: ignore[no-untyped-def]
    """The integer weights of a tile: `weight` where one tile holds the row, elsewhere computed again."""
    if block.held is None:
        weight = weight_of(exp_of(logprob(x, soft)))
    return weight


@triton.jit
def at_least(block, weight, soft, pivot, by_mass: tl.constexpr):  # type: ignore[no-untyped-def]
    """How much of each row lies at or above `pivot`, int64: the integer mass, or how many columns (pivot > -inf)."""
    part = filled(block, 0, tl.uint32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        if by_mass:
            part += tl.where(x >= pivot[:, None], weight_at(block, weight, soft, x), 0)
        else:
            part += (x >= pivot[:, None]).to(tl.uint32)
    return widened(tl.sum(part, axis=1))


@triton.jit
def largest_below(block, bound):  # type: ignore[no-untyped-def]
    """The largest logit of each row below `bound`, -inf if there is none."""
    part = filled(block, float("-inf"), tl.float32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        part = tl.maximum(part, tl.where(x < bound[:, None], x, float("-inf")))
    return tl.max(part, axis=1)


@triton.jit
def highest(block, weight, soft, target, wanted, low, top, by_mass: tl.constexpr, steps: tl.constexpr):  # type: ignore[no-untyped-def]
    """The largest logit at which `at_least` reaches `target`, as it does at `low`; `low` where not `wanted`.

    Every pivot narrows the bracket [lo, hi) of keys rightly; which ones are tried is a matter of speed alone. `steps`
    times it is the middle of the bracket's values, whose lower end is first taken to be where a weight vanishes. Then,
    by turns, the largest logit in the bracket, which ends the search where it is the only one, and the middle key.
    """
    lo = key_of(low)
    hi = tl.where(wanted, key_of(top) + 1, lo + 1)
    pivot = top - tl.div_rn(22.0, soft.inv)
    turns = tl.where(tl.max(wanted.to(tl.int32), axis=0) > 0, steps, 0)
    for _ in range(turns):
        place = tl.minimum(tl.maximum(key_of(tl.maximum(pivot, LEAST)), lo + 1), hi - 1)
        hit = at_least(block, weight, soft, float_of(place), by_mass) >= target
        lo, hi = narrowed(lo, hi, place, hit)
        pivot = tl.maximum(float_of(lo), LEAST) * 0.5 + float_of(hi) * 0.5
    while tl.max(hi - lo, axis=0) > 1:
        value = largest_below(block, float_of(hi))
        hit = at_least(block, weight, soft, value, by_mass) >= target
        only = hit & (hi - lo > 1)
        lo, hi = narrowed(lo, hi, key_of(value), hit)
        hi = tl.where(only, lo + 1, hi)
        place = (lo + hi) >> 1
        hit = at_least(block, weight, soft, float_of(place), by_mass) >= target
        lo, hi = narrowed(lo, hi, place, hit)
    return float_of(lo)


@triton.jit
def narrowed(lo, hi, place, hit):  # type: ignore[no-untyped-def]
    """The bracket after a look at `place`; one that holds a single key stays as it is."""
    open = hi - lo > 1
    return tl.where(open & hit, place, lo), tl.where(open & (hit == 0), place, hi)


@triton.jit
def last_tie(block, threshold, sel, ties):  # type: ignore[no-untyped-def]
    """The column of the `sel`-th tie; the number of columns where there are no more than `sel` ties."""
    last = tl.full(block.row.shape, -1, tl.int32)
    before = tl.zeros(block.row.shape, tl.int32)
    turns = tl.where(tl.max(ties - sel, axis=0) > 0, block.tiles, 0)
    for index in range(turns):
        x, column = fetch(block, index)
        tie = (x == threshold[:, None]).to(tl.int32)
        rank = before[:, None] + tl.cumsum(tie, axis=1)
        found = (tie > 0) & (rank <= sel[:, None])
        last = tl.maximum(last, tl.max(tl.where(found, column, -1), axis=1))
        before += tl.sum(tie, axis=1)
    return tl.where(ties > sel, last, block.columns)


@triton.jit
def cut_row(block, soft, top, ps, ks, by_p, wanted, steps: tl.constexpr):  # type: ignore[no-untyped-def]
    """A.3 and A.4 for the rows `wanted`: (Cut, sel int64). Other rows keep all: threshold -inf, sel = columns."""
    weight = None
    if block.held is not None:
        weight = weight_of(exp_of(logprob(block.held, soft)))
    least = tl.full(block.row.shape, float("-inf"), tl.float32)
    by_k = wanted & (ks <= block.columns)
    threshold = highest(block, weight, soft, ks, by_k, least, top, False, steps)
    by_mass = wanted & (at_least(block, weight, soft, threshold, True) >= ps)
    threshold = highest(block, weight, soft, ps, by_mass, threshold, top, True, steps)

    mass_part = filled(block, 0, tl.uint32)
    count_part = filled(block, 0, tl.int32)
    tie_part = filled(block, 0, tl.int32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        above = x > threshold[:, None]
        mass_part += tl.where(above, weight_at(block, weight, soft, x), 0)
        count_part += above.to(tl.int32)
        tie_part += ((x == threshold[:, None]) & (x > float("-inf"))).to(tl.int32)
    ps_rem = ps - widened(tl.sum(mass_part, axis=1))
    ks_rem = ks - tl.sum(count_part, axis=1)
    ties = tl.sum(tie_part, axis=1)

    sel = tl.minimum(ks_rem, block.columns)
    probability = probability_at(threshold, soft)
    share = tl.div_rn(ps_rem.to(tl.float32) * 4.656612873077393e-10, tl.where(probability > 0, probability, 1.0))
    part = tl.ceil(tl.minimum(share, block.columns * 1.0)).to(tl.int64)
    sel = tl.where(by_p, tl.where(probability > 0, tl.minimum(sel, part), 0), sel)
    sel = tl.where(by_k | by_mass, sel, block.columns)
    return Cut(threshold, last_tie(block, threshold, sel.to(tl.int32), ties)), sel

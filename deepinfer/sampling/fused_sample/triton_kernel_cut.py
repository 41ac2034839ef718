"""The cut of the `fused_sample` kernel: threshold, tie rule, renormalisation (docs/spec/sampling.md, A.3 to A.5)."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from deepinfer.sampling.fused_sample.triton_kernel_parts import (
    Soft,
    exp_of,
    fetch,
    filled,
    high_word,
    log_of,
    logprob,
    low_word,
    probability_at,
    sum_of,
    weight_of,
    widened,
)
from deepinfer.sampling.fused_sample.triton_kernel_search import Measure, amount_of, at_least, threshold_of


class Goal(NamedTuple):
    """What a cut goes for: top_p, and ps and ks of A.3."""

    top_p: Any
    ps: Any
    ks: Any


@triton.jit
def equal_to(block, value):  # type: ignore[no-untyped-def]
    """How many columns of each row are equal to `value`, int32."""
    part = filled(block, 0, tl.int32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        part += (x == value[:, None]).to(tl.int32)
    return tl.sum(part, axis=1)


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
def kept_tile(block, threshold, sel, ties):  # type: ignore[no-untyped-def]
    """The held tile with -inf for all but the logits above `threshold` and the first `sel` of its ties."""
    x = block.held
    for _ in range(tl.where(tl.max(ties - sel, axis=0) > 0, 1, 0)):
        tie = (x == threshold[:, None]).to(tl.int32)
        late = (tie > 0) & (tl.cumsum(tie, axis=1) > sel[:, None])
        x = tl.where(late, float("-inf"), x)
    return tl.where(x >= threshold[:, None], x, float("-inf"))


@triton.jit
def cut_row(block, soft, top, goal, rows, greedy, groups: tl.constexpr, steps: tl.constexpr, record: tl.constexpr):  # type: ignore[no-untyped-def]
    """A.3 and A.4 of the given rows: (threshold, how many of its ties are kept int32, how many there are int32).

    The threshold is the higher of two: where the count reaches `ks`, and from there on where the mass reaches `ps`.
    A `greedy` row keeps the first column of its maximum; other rows keep all (threshold -inf).
    """
    by_p = goal.top_p < 1.0
    by_k = rows & (goal.ks <= block.columns)
    threshold = tl.full(block.row.shape, float("-inf"), tl.float32)
    by_mass = rows & (goal.ps < 0)
    mass = tl.zeros_like(goal.ps)
    mass_above = mass
    count_above = mass
    for phase in range(tl.where(tl.max(by_k.to(tl.int32), axis=0) > 0, 0, 1), 2):
        counting = phase == 0
        amount = None
        if block.held is not None:
            amount = amount_of(block.held, counting, soft)
        measure = Measure(counting, amount, soft, tl.where(counting, goal.ks, goal.ps))
        mass = at_least(block, measure, threshold)
        at_low = tl.where(counting, block.columns, mass)
        reached = tl.where(counting, by_k, rows & (at_low >= goal.ps))
        # Of what lies below a probability (1 - p) / V the mass is below 1 - p: the threshold is not there.
        reach = tl.where(by_p & (counting == 0), tl.log((1.0 - goal.top_p) / block.columns), -22.0)
        start = top + tl.div_rn(tl.maximum(reach, -22.0) - soft.lse0, soft.inv)
        threshold, above = threshold_of(block, measure, threshold, at_low, start, top, reached, groups, steps)
        by_mass = reached & (counting == 0)
        count_above = tl.where(counting, above, count_above)
        mass_above = above
    threshold = tl.where(greedy, top, tl.where(threshold == 0.0, 0.0, threshold))  # -0 is 0
    ties = equal_to(block, threshold)
    probability = probability_at(threshold, soft)
    mass_above = tl.where(by_mass, mass_above, mass - ties * widened(weight_of(probability)))
    if record:
        # Where the mass moved the threshold, what lies above it is fewer than `ks` and decides nothing but the record.
        ones = None
        if block.held is not None:
            ones = filled(block, 1, tl.uint32)
        counted = at_least(block, Measure(True, ones, soft, goal.ks), threshold) - ties
        count_above = tl.where(by_mass, counted, count_above)
    sel = tl.minimum(goal.ks - count_above, block.columns)
    share = (goal.ps - mass_above).to(tl.float32) * 4.656612873077393e-10
    share = tl.div_rn(share, tl.where(probability > 0, probability, 1.0))
    part = tl.ceil(tl.minimum(share, block.columns * 1.0)).to(tl.int64)
    sel = tl.where(by_p, tl.where(probability > 0, tl.minimum(sel, part), 0), sel)
    sel = tl.where(by_k | by_mass, sel, block.columns)
    return threshold, tl.where(greedy, 1, sel).to(tl.int32), ties


@triton.jit
def min_p_weight(soft, top, min_p31):  # type: ignore[no-untyped-def]
    """The lightest weight that min_p keeps, int64: the least w with w * 2^31 >= min_p31 * (weight of the maximum)."""
    heaviest = widened(weight_of(probability_at(top, soft)))
    return (heaviest * min_p31 + 2147483647) >> 31


@triton.jit
def renormalised(block, soft, rows):  # type: ignore[no-untyped-def]
    """A.5 in the log domain, of the given rows: what the block keeps sums to one."""
    high = filled(block, 0, tl.int32)
    low = filled(block, 0, tl.int32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        probability = exp_of(logprob(x, soft))
        high += high_word(probability)
        low += low_word(probability)
    lse0 = soft.lse0 - log_of(sum_of(block, high, low))
    return Soft(soft.inv, tl.where(rows, lse0, soft.lse0), soft.lse1)


@triton.jit
def softmax_rows(block, inv):  # type: ignore[no-untyped-def]
    """A.1: (Soft, row maximum, status) of each row; the status is that of `params.row_status`."""
    top_part, _ = fetch(block, 0)
    size_part = top_part.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    for index in range(1, block.tiles):
        x, _ = fetch(block, index)
        top_part = tl.maximum(top_part, x)
        size_part = tl.maximum(size_part, x.to(tl.int32, bitcast=True) & 0x7FFFFFFF)
    top = tl.max(top_part, axis=1)
    empty = tl.where(top == float("-inf"), 3, 0)
    status = tl.where(tl.max(size_part, axis=1) > 0x7F800000, 1, tl.where(top == float("inf"), 2, empty))
    high = filled(block, 0, tl.int32)
    low = filled(block, 0, tl.int32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        probability = exp_of((x - top[:, None]) * inv[:, None])
        high += high_word(probability)
        low += low_word(probability)
    return Soft(inv, -log_of(sum_of(block, high, low)), -top), top, status


@triton.jit
def first_top(block, top):  # type: ignore[no-untyped-def]
    """The first column of each row that holds its maximum."""
    part = filled(block, block.columns, tl.int32)
    for index in range(block.tiles):
        x, column = fetch(block, index)
        part = tl.minimum(part, tl.where(x == top[:, None], column, block.columns))
    return tl.min(part, axis=1)

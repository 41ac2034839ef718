"""The draw of the `fused_sample` kernel: weights, accepted word, its column (docs/spec/sampling.md, A.6 to A.8, C)."""

from __future__ import annotations

import triton
import triton.language as tl

from deepinfer.rng.triton_impl import stream_block
from deepinfer.sampling.fused_sample.triton_kernel_parts import (
    elements,
    exp_of,
    fetch,
    load,
    logprob,
    weight_of,
    widened,
)


@triton.jit
def residual_of(value, draft):  # type: ignore[no-untyped-def]
    """The weight of what the target has more of than the draft: max(exp(lp) - exp(dl - 5e-5), 0) * 2^31, down."""
    return weight_of(tl.maximum(exp_of(value) - exp_of(tl.minimum(draft - 5e-5, 1.0)), 0.0))


@triton.jit
def drawn_weight(x, column, block, soft, drafts, from_residual, verify: tl.constexpr):  # type: ignore[no-untyped-def]
    """(weight to draw by, log-probability) of elements: A.6, or C's residual for the rows `from_residual`."""
    value = logprob(x, soft)
    weight = weight_of(exp_of(value))
    if verify:
        residual = residual_of(value, load(drafts, block, column))
        weight = tl.where(from_residual[:, None], residual, weight)
    return weight, value


@triton.jit
def accepted_word(seed, subsequence, limit, wanted, words, row, most: tl.constexpr, record: tl.constexpr):  # type: ignore[no-untyped-def]
    """(first word below `limit`, how many were taken) of each row `wanted`, int64 and int32; never stops early.

    With `record`, the first `most` words taken are stored in `words` [row, most].
    """
    pending = wanted.to(tl.int32)
    block = tl.zeros_like(row)
    chosen = tl.zeros_like(row)
    taken = tl.zeros_like(pending)
    while tl.max(pending, axis=0) > 0:
        w0, w1, w2, w3 = stream_block(seed, subsequence, block.to(tl.uint64))
        for lane in tl.static_range(4):
            word = w0
            if lane == 1:
                word = w1
            if lane == 2:
                word = w2
            if lane == 3:
                word = w3
            if record:
                tl.store(words + row * most + taken, word, mask=(pending > 0) & (taken < most))
            value = word.to(tl.int64) & 0xFFFFFFFF
            chosen = tl.where(pending > 0, value, chosen)
            taken += pending
            pending = pending & (value >= limit).to(tl.int32)
        block += 1
    return chosen, taken


@triton.jit
def columns_below(weight, residue, before):  # type: ignore[no-untyped-def]
    """How many elements of each row have a running sum, from `before` on, that does not exceed `residue`, int32.

    The sums are uint32 and `residue` is an int64 of that range; both are moved down by 2^31 and compared as int32.
    """
    running = (tl.cumsum(weight, axis=1) + before[:, None]) ^ 0x80000000
    bound = (residue - 2147483648).to(tl.int32)
    return tl.sum((running.to(tl.int32, bitcast=True) <= bound[:, None]).to(tl.int32), axis=1)


@triton.jit
def column_at(
    block,
    part,
    residue,
    soft,
    drafts,
    from_residual,
    verify: tl.constexpr,
    lanes: tl.constexpr,
    depth: tl.constexpr,
    size: tl.constexpr,
):  # type: ignore[no-untyped-def]
    """The column of each row whose CDF interval holds `residue`, int32.

    `part` [rows, n] is what the pass over the weights summed: the weights themselves where one tile holds the row in
    column order, the sums of the lanes where there are `lanes`. `depth` and `size` cut up the search alone.
    """
    before = tl.zeros(block.row.shape, tl.uint32)
    found = tl.zeros(block.row.shape, tl.int32)
    if block.held is not None:
        if part.shape[1] >= 4 * size:
            # In two steps, over runs of `size` columns and then inside one: cheaper than a scan of all of them.
            runs = tl.reshape(part, [part.shape[0], part.shape[1] // size, size])
            sums = tl.sum(runs, axis=2)
            order = tl.arange(0, part.shape[1] // size)
            earlier = (order[None, :] <= order[:, None])[None, :, :]
            running = tl.sum(tl.where(earlier, sums[:, None, :], 0), axis=2)
            run = tl.sum((widened(running) <= residue[:, None]).to(tl.int32), axis=1)
            passed = tl.sum(tl.where(order[None, :] < run[:, None], sums, 0), axis=1)
            chosen = tl.sum(tl.where((order[None, :] == run[:, None])[:, :, None], runs, 0), axis=1)
            found = run * size + columns_below(chosen, residue - widened(passed), before)
        else:
            found = columns_below(part, residue, before)
    elif lanes == 0:
        for index in range(block.tiles):
            x, column = fetch(block, index)
            weight = drawn_weight(x, column, block, soft, drafts, from_residual, verify)[0]
            found += columns_below(weight, residue, before)
            before += tl.sum(weight, axis=1)
    else:
        lane = columns_below(part, residue, before)
        earlier = tl.where(block.offset < lane[:, None], part, 0)
        inner = residue - widened(tl.sum(earlier, axis=1))
        for start in range(0, block.tiles, depth):
            column = (start + tl.arange(0, depth))[None, :] * lanes + lane[:, None]
            x = elements(block, column)
            weight = drawn_weight(x, column, block, soft, drafts, from_residual, verify)[0]
            found += columns_below(weight, inner, before)
            before += tl.sum(weight, axis=1)
        found = lane + found * lanes
    return found

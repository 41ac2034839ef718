"""`exact_sample` as one Triton kernel (docs/spec/sampling.md, D), for the interpreter and the GPU alike.

Two float operations make an integer of each logit; nothing after them depends on tile, block of rows, warps or device.
"""

from __future__ import annotations

import triton
import triton.language as tl

from deepinfer.rng.triton_impl import stream_block
from deepinfer.sampling.exact_sample.triton_arithmetic import likely_logprob, log_total, logprobs, weights
from deepinfer.sampling.exact_sample.triton_rows import (
    NOWHERE,
    Block,
    Goal,
    cut_rows,
    fetch,
    float_of,
    kept,
    key_of,
    load,
    walked,
)


@triton.jit
def high64(a, b):  # type: ignore[no-untyped-def]
    """The upper half of the product of two uint64, all three as int64 bits."""
    product = tl.umulhi(a.to(tl.uint64, bitcast=True), b.to(tl.uint64, bitcast=True))
    return product.to(tl.int64, bitcast=True)


@triton.jit  # type: ignore[untyped-decorator]
def exact_sample_kernel(  # type: ignore[no-untyped-def]
    logits, temperature, top_p, top_k, seeds, places, statuses, draft_ids,
    tokens, totals, residues, words, word_counts, thresholds, sels, draft_weights, logprobs_out, kept_out, weights_out,
    count, columns, stride, min_weight,
    top_k_first: tl.constexpr, verify: tl.constexpr, record: tl.constexpr, full: tl.constexpr,
    most_words: tl.constexpr, halvings: tl.constexpr, rows: tl.constexpr, tile: tl.constexpr, single: tl.constexpr,
):  # fmt: skip
    """Rows `rows * program ...` of `count`. Seeds and places are the bits of uint64; a subsequence is place * stride.

    `single`: one `tile` holds a row. `min_weight` is the least weight that min_p keeps, 0 where it is off. `record`
    and `full` say which outputs are stored: total .. sel, and log-probabilities, kept columns and weights.
    """
    row = (tl.program_id(0) * rows + tl.arange(0, rows)).to(tl.int64)
    ok = (row < count) & (tl.load(statuses + row, mask=row < count, other=1) == 0)
    heat = tl.load(temperature + row, mask=ok, other=1.0)
    greedy = heat == 0.0
    c = (1.4426950408889634 / tl.where(greedy, 1.0, heat).to(tl.float64)).to(tl.float32)
    c = tl.minimum(c, 3.4028234663852886e38)
    share = tl.load(top_p + row, mask=ok, other=1.0)
    by_p = share < 1.0
    p = tl.minimum((tl.where(by_p, share, 0.0).to(tl.float64) * 4294967296.0).to(tl.int64), 4294967295)
    k = tl.load(top_k + row, mask=ok, other=-1).to(tl.int64)
    by_k = (k >= 1) & (k < columns)
    k = tl.where(by_k, k, columns + 1)

    # Step 1 and 2: the largest logit, its first column, and with one tile the weights.
    tiles = (columns + tile - 1) // tile
    offset = tl.arange(0, tile)[None, :]
    if single:
        x = load(logits, row, ok, offset, columns)
        top = tl.max(x, axis=1)
        best = tl.min(tl.where(x == top[:, None], offset, columns), axis=1)
        top = tl.where(ok, top, 0.0)
        weight = weights(x, top[:, None], c[:, None])
        block = Block(logits, row, ok, top, c, offset, columns, 1, key_of(x), weight)
    else:
        highest = tl.full([rows, tile], float("-inf"), tl.float32)
        where = tl.full([rows, tile], 0, tl.int32)
        for index in range(tiles):
            x = load(logits, row, ok, index * tile + offset, columns)
            where = tl.where(x > highest, index * tile + offset, where)
            highest = tl.maximum(highest, x)
        top = tl.max(highest, axis=1)
        best = tl.min(tl.where(highest == top[:, None], where, columns), axis=1)
        top = tl.where(ok, top, 0.0)
        block = Block(logits, row, ok, top, c, offset, columns, tiles, None, None)

    # Step 3.
    whole, live = walked(block, tl.full([rows], NOWHERE + 1, tl.int32))
    limited = ok & (greedy == 0)
    wanted = limited & (by_p | (by_k & (k < live)))
    if top_k_first:
        twice = limited & by_p & by_k & (k < live)
        first = cut_rows(block, Goal(k, whole, k < 0), twice, halvings)
        whole = tl.where(twice, first.mass + first.taken * first.each, whole)
    cut = cut_rows(block, Goal(k, high64(whole, p << 32), by_p), wanted, halvings)
    least = tl.maximum(tl.full([rows], 1, tl.int64), tl.where(limited, min_weight, 0))
    noted = limited & (by_p | by_k | (least > 1))

    # The sum of what is kept, and the lowest logit of it.
    part = tl.full([rows, tile], 0, tl.int64)
    lowest_part = tl.full([rows, tile], 2147483647, tl.int32)
    for index in range(block.tiles):
        key, weight, column = fetch(block, index)
        weight = kept(key, weight, column, cut, least, greedy, best)
        part += weight
        lowest_part = tl.minimum(lowest_part, tl.where(weight > 0, key, 2147483647))
    total = tl.sum(part, axis=1)
    lowest = tl.min(lowest_part, axis=1)

    # Step 4 and the outputs.
    seed = tl.load(seeds + row, mask=ok, other=0).to(tl.uint64, bitcast=True)
    place = tl.load(places + row, mask=ok, other=0).to(tl.uint64, bitcast=True)
    word0, word1, _, _ = stream_block(seed, place * stride, tl.full([rows], 0, tl.uint64))
    residue = high64((word0.to(tl.uint64) | (word1.to(tl.uint64) << 32)).to(tl.int64, bitcast=True), total)
    if full:
        logarithm, likely = log_total(total), likely_logprob(total)
    found = tl.full([rows], 0, tl.int32)
    sel = tl.full([rows], 0, tl.int64)
    before = tl.full([rows], 0, tl.int64)
    for index in range(block.tiles):
        key, weight, column = fetch(block, index)
        weight = kept(key, weight, column, cut, least, greedy, best)
        running = tl.cumsum(weight, axis=1) + before[:, None]
        found += tl.sum((running - 1 < residue[:, None]).to(tl.int32), axis=1)
        before += tl.sum(weight, axis=1)
        sel += tl.sum(((weight > 0) & (key == lowest[:, None])).to(tl.int32), axis=1)
        if full:
            at = row[:, None] * columns + column
            inside = ok[:, None] & (column < columns)
            tl.store(logprobs_out + at, logprobs(weight, logarithm, total, likely), mask=inside)
            tl.store(kept_out + at, (weight > 0).to(tl.int8), mask=inside)
            tl.store(weights_out + at, weight, mask=inside)
    token = tl.where(greedy, best, found)
    tl.store(tokens + row, token, mask=ok)
    if record:
        tl.store(totals + row, total, mask=ok)
        tl.store(residues + row, residue, mask=limited)
        tl.store(words + row * most_words, word0, mask=limited)
        tl.store(words + row * most_words + 1, word1, mask=limited)
        tl.store(word_counts + row, 2, mask=limited)
        tl.store(thresholds + row, tl.where(noted, float_of(lowest), float("-inf")), mask=limited)
        tl.store(sels + row, tl.where(noted, sel, columns), mask=limited)
    if verify:
        draft = tl.load(draft_ids + row, mask=ok, other=-1)
        drafted = ok & (draft >= 0)
        x = load(logits, row, drafted, draft[:, None], columns)
        weight = weights(x, top[:, None], c[:, None])
        weight = kept(key_of(x), weight, draft[:, None], cut, least, greedy, best)
        tl.store(draft_weights + row, tl.max(weight, axis=1), mask=drafted)

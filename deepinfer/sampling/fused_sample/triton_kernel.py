"""`fused_sample` as one Triton kernel (docs/spec/sampling.md, A and C), for the interpreter and the GPU alike.

Order of reduction: none. Sums of exponentials are integers in units of 1 / `scale`, masses and weights in units of
2^-31, so results are the same for every tile, every block of rows and every number of warps; across devices they differ
as exp does, and the interpreter rounds an fma twice.
"""

from __future__ import annotations

import triton
import triton.language as tl

from deepinfer.rng.triton_impl import stream_block, uniform_from_word
from deepinfer.sampling.fused_sample.triton_kernel_cut import cut_row
from deepinfer.sampling.fused_sample.triton_kernel_draw import accepted_word, column_at, drawn_weight, residual_of
from deepinfer.sampling.fused_sample.triton_kernel_parts import (
    Block,
    elements,
    exp_of,
    fetch,
    filled,
    load,
    survives,
    widened,
)
from deepinfer.sampling.fused_sample.triton_kernel_target import (
    Target,
    min_p_weight,
    renormalised,
    softmax_rows,
    target_of,
)


@triton.jit
def fused_sample_kernel(  # type: ignore[no-untyped-def]
    logits, temperature, top_p, top_k, seeds, places, draft_logprobs, draft_ids, is_verify,
    tokens, statuses, logprobs, kept_columns, weights, lse, lse0, thresholds, sels, totals, limits, residues,
    words, word_counts, purposes, accept_words, accepts, accept_probs, draft_values,
    count,
    columns: tl.constexpr, stride: tl.constexpr, min_p31: tl.constexpr, scale: tl.constexpr, top_k_first: tl.constexpr,
    multiply_shift: tl.constexpr, verify: tl.constexpr, want_logprobs: tl.constexpr, want_kept: tl.constexpr,
    want_weights: tl.constexpr, record: tl.constexpr, most_words: tl.constexpr,
    rows: tl.constexpr, tile: tl.constexpr, lanes: tl.constexpr, depth: tl.constexpr, steps: tl.constexpr,
):  # fmt: skip
    """Rows `rows * program ...` of `count`. Seeds and places are the bits of uint64; a subsequence is place * stride.

    One `tile` holds a row, or tiles walk over it. `lanes` is 0 where the CDF runs in column order, else the number of
    lanes: the last pass then walks in chunks of that many columns, and one lane is searched `depth` columns at a time.
    Rows that cannot be sampled get token -1 and their status; nothing else of them is stored.
    """
    row = (tl.program_id(0) * rows + tl.arange(0, rows)).to(tl.int64)
    inside = row < count
    heat = tl.load(temperature + row, mask=inside, other=1.0)
    inv = tl.minimum(tl.div_rn(1.0, heat), 3.4028234663852886e38)
    greedy = heat == 0.0
    share = tl.load(top_p + row, mask=inside, other=1.0)
    by_p = share < 1.0
    ps = tl.where(by_p, (share * 2147483648.0).to(tl.int64) + 1, 2147483648)
    ks = tl.load(top_k + row, mask=inside, other=-1).to(tl.int64)
    ks = tl.where((ks >= 1) & (ks < columns), ks, columns + 1)
    seed = tl.load(seeds + row, mask=inside, other=0).to(tl.uint64, bitcast=True)
    subsequence = tl.load(places + row, mask=inside, other=0).to(tl.uint64, bitcast=True) * stride

    # A.1
    tiles: tl.constexpr = (columns + tile - 1) // tile
    offset = tl.arange(0, tile)[None, :]
    held = None
    block = Block(logits, row, inside, held, None, offset, columns, tiles, scale, 1.0 / scale)
    if tiles == 1:
        held = load(logits, block, offset)
        block = Block(logits, row, inside, held, None, offset, columns, tiles, scale, 1.0 / scale)
    soft, top, best, status = softmax_rows(block, inv)
    ok = inside & (status == 0)
    drawn = ok & (heat > 0.0)
    if record:
        tl.store(lse + row * 2, soft.lse0, mask=drawn)
        tl.store(lse + row * 2 + 1, soft.lse1, mask=drawn)

    # A.3 to A.5
    lightest = None
    wanted = drawn & (by_p | (ks <= columns) | (min_p31 > 0))
    first = None
    if top_k_first:
        twice = wanted & by_p & (ks <= columns)
        whole = tl.full([rows], 2147483648, tl.int64)
        first, _ = cut_row(block, soft, top, whole, ks, whole < 0, twice, steps)
        soft = renormalised(block, soft, first, lightest, twice)
        ks = tl.where(twice, columns + 1, ks)
        if tiles == 1:
            held = tl.where(survives(held, offset, first), held, float("-inf"))
        block = Block(logits, row, inside, held, first, offset, columns, tiles, scale, 1.0 / scale)
    cut, sel = cut_row(block, soft, top, ps, ks, by_p, wanted, steps)
    made = soft
    if min_p31 > 0:
        lightest = tl.where(wanted, min_p_weight(soft, top, min_p31), 0)
    soft = renormalised(block, soft, cut, lightest, wanted)
    target = Target(cut, made, lightest, soft, greedy, best)
    if record:
        tl.store(lse0 + row, soft.lse0, mask=drawn)
        tl.store(thresholds + row, cut.threshold, mask=drawn)
        tl.store(sels + row, sel, mask=drawn)

    # Verification comes before any weight is made: a rejected row is drawn from the residual.
    accepted = inside & (status < 0)
    from_residual = accepted
    draft = tl.full([rows], -1, tl.int32)
    verified = accepted
    if verify:
        verified = ok & (tl.load(is_verify + row, mask=inside, other=0) != 0)
        draft = tl.load(draft_ids + row, mask=inside, other=-1)
        given = inside & (draft >= 0)
        draft_value = tl.load(draft_logprobs + row * columns + draft, mask=given, other=float("-inf"))
        draft_column = tl.maximum(draft, 0)[:, None]
        draft_target = target_of(elements(block, draft_column), draft_column, target)[0]
        value = tl.where(given, tl.max(draft_target, axis=1), float("-inf"))
        word, _, _, _ = stream_block(seed, subsequence + 2, tl.zeros_like(seed))
        chance = exp_of(tl.minimum(value - draft_value, 0.0))
        tested = verified & given & drawn
        accepted = tested & (value > float("-inf")) & (uniform_from_word(word) < chance)
        from_residual = verified & drawn & (accepted == 0)
        tl.store(draft_values + row, draft_value, mask=ok)
        if record:
            tl.store(accept_words + row, word, mask=tested)

    # A.6 and the outputs, walked in the order of the CDF.
    walk = block
    if lanes > 0:
        chunks: tl.constexpr = (columns + lanes - 1) // lanes
        walk = Block(
            logits, row, inside, None, first, tl.arange(0, lanes)[None, :], columns, chunks, scale, 1.0 / scale
        )
    part = filled(walk, 0, tl.uint32)
    residual_part = filled(walk, 0, tl.uint32)
    for index in range(walk.tiles):
        element, place = fetch(walk, index)
        weight, logprob, kept = drawn_weight(element, place, walk, target, draft_logprobs, from_residual, verify)
        part += weight
        at = row[:, None] * columns + place
        stored = ok[:, None] & (place < columns)
        if verify:
            residual_part += residual_of(logprob, load(draft_logprobs, walk, place))
        if want_logprobs:
            tl.store(logprobs + at, logprob, mask=stored)
        if want_kept:
            tl.store(kept_columns + at, kept, mask=stored)
        if want_weights:
            tl.store(weights + at, weight, mask=stored)

    # A.7 and A.8
    total = widened(tl.sum(part, axis=1))
    drawn = drawn & (accepted == 0) & (total > 0)
    safe = tl.maximum(total, 1)
    limit = 4294967295 // safe * safe
    if multiply_shift:
        limit = tl.full([rows], 4294967296, tl.int64)
    stream = subsequence + from_residual.to(tl.uint64)
    chosen, taken = accepted_word(seed, stream, limit, drawn, words, row, most_words, record)
    residue = chosen % safe
    if multiply_shift:
        residue = widened(tl.umulhi(chosen.to(tl.uint32), safe.to(tl.uint32)))
    found = column_at(walk, part, residue, target, draft_logprobs, from_residual, verify, lanes, depth)

    failed = ok & (greedy == 0) & (accepted == 0) & (from_residual == 0) & (total == 0)
    token = tl.where(greedy | (total == 0), best, found)
    token = tl.where(accepted, draft, token)
    tl.store(tokens + row, tl.where(ok & (failed == 0), token, -1), mask=inside)
    tl.store(statuses + row, tl.where(failed, 4, status), mask=inside)
    if record:
        tl.store(totals + row, tl.where(greedy, 2147483648, total), mask=drawn | (ok & greedy))
        tl.store(limits + row, limit, mask=drawn)
        tl.store(residues + row, residue, mask=drawn)
        tl.store(word_counts + row, taken, mask=drawn)
        tl.store(purposes + row, from_residual.to(tl.int32), mask=ok)
    if verify:
        excess = widened(tl.sum(residual_part, axis=1)).to(tl.float32) * 4.656612873077393e-10
        accepted = tl.where(greedy, draft == best, accepted)
        tl.store(accepts + row, tl.where(verified, accepted, verified == 0), mask=ok)
        tl.store(accept_probs + row, tl.where(verified, tl.maximum(1.0 - excess, 0.0), 1.0), mask=ok)

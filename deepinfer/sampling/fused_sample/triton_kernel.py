"""`fused_sample` as one Triton kernel (docs/spec/sampling.md, A and C), for the interpreter and the GPU alike.

Order of reduction: none. Exponentials are summed as integers in units of 2^-37, masses and weights in units of 2^-31:
results are the same for every tile, every block of rows and every number of warps; across devices they differ as exp
does, and the interpreter rounds an fma twice.
"""

from __future__ import annotations

import triton
import triton.language as tl

from deepinfer.rng.triton_impl import stream_block, uniform_from_word
from deepinfer.sampling.fused_sample.triton_kernel_cut import (
    Goal,
    cut_row,
    first_top,
    kept_tile,
    last_tie,
    min_p_weight,
    renormalised,
    softmax_rows,
)
from deepinfer.sampling.fused_sample.triton_kernel_draw import accepted_word, column_at, drawn_weight, residual_of
from deepinfer.sampling.fused_sample.triton_kernel_parts import (
    Block,
    Soft,
    elements,
    exp_of,
    fetch,
    filled,
    heavy_enough,
    load,
    logprob,
    widened,
)


@triton.jit
def fused_sample_kernel(  # type: ignore[no-untyped-def]
    logits, temperature, top_p, top_k, seeds, places, draft_logprobs, draft_ids, is_verify,
    tokens, statuses, logprobs, kept_columns, weights, lse, lse0, thresholds, sels, totals, limits, residues,
    words, word_counts, purposes, accept_words, accepts, accept_probs, draft_values,
    count,
    columns: tl.constexpr, stride: tl.constexpr, min_p31: tl.constexpr, top_k_first: tl.constexpr,
    multiply_shift: tl.constexpr, verify: tl.constexpr, want_logprobs: tl.constexpr, want_kept: tl.constexpr,
    want_weights: tl.constexpr, record: tl.constexpr, most_words: tl.constexpr,
    rows: tl.constexpr, tile: tl.constexpr, lanes: tl.constexpr, depth: tl.constexpr, steps: tl.constexpr,
    groups: tl.constexpr, runs: tl.constexpr,
):  # fmt: skip
    """Rows `rows * program ...` of `count`. Seeds and places are the bits of uint64; a subsequence is place * stride.

    One `tile` holds a row, or tiles walk over it. `lanes` is 0 where the CDF runs in column order, else the number of
    lanes: the last pass then walks in chunks of that many columns, and one lane is searched `depth` columns at a time.
    `steps` and `groups` are those of `threshold_of`, `runs` that of `column_at`. Rows that cannot be sampled get token
    -1 and their status; nothing else of them is stored.
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
    hold: tl.constexpr = (tiles == 1) and (lanes == 0)
    offset = tl.arange(0, tile)[None, :]
    block = Block(logits, row, inside, None, None, None, None, None, offset, columns, tiles)
    if hold:
        held = load(logits, block, offset)
        block = Block(logits, row, inside, held, None, None, None, None, offset, columns, tiles)
    soft, top, status = softmax_rows(block, inv)
    ok = inside & (status == 0)
    drawn = ok & (heat > 0.0)
    if record:
        tl.store(lse + row * 2, soft.lse0, mask=drawn)
        tl.store(lse + row * 2 + 1, soft.lse1, mask=drawn)

    # A.3 to A.5
    wanted = drawn & (by_p | (ks <= columns) | (min_p31 > 0))
    nobody = inside & (status < 0)
    first = tl.full([rows], float("-inf"), tl.float32)
    first_last = tl.full([rows], columns, tl.int32)
    if top_k_first:
        twice = wanted & by_p & (ks <= columns)
        by_count = Goal(tl.full([rows], 1.0, tl.float32), tl.full([rows], 2147483648, tl.int64), ks)
        first, first_sel, first_ties = cut_row(block, soft, top, by_count, twice, nobody, groups, steps, False)
        held = block.held
        if hold:
            held = kept_tile(block, first, first_sel, first_ties)
        else:
            first_last = last_tie(block, first, first_sel, first_ties)
        block = Block(logits, row, inside, held, first, first_last, None, None, offset, columns, tiles)
        soft = renormalised(block, soft, twice)
        ks = tl.where(twice, columns + 1, ks)
    lightest = None
    if min_p31 > 0:
        lightest = tl.where(wanted, min_p_weight(soft, top, min_p31), 0)
    held = block.held
    made = soft
    final_lse0 = soft.lse0
    threshold = tl.full([rows], float("-inf"), tl.float32)
    sel = tl.full([rows], columns, tl.int32)
    cut_threshold = first
    cut_last = first_last
    if tl.max((wanted | (ok & greedy)).to(tl.int32), axis=0) > 0:
        goal = Goal(share, ps, ks)
        threshold, sel, ties = cut_row(block, made, top, goal, wanted, ok & greedy, groups, steps, record)
        if hold:
            held = kept_tile(block, threshold, sel, ties)
            if min_p31 > 0:
                held = tl.where(heavy_enough(held, made, lightest), held, float("-inf"))
        else:
            # The second cut lies within the first.
            last = last_tie(block, threshold, sel, ties)
            cut_threshold = tl.maximum(first, threshold)
            cut_last = tl.where(threshold > first, last, tl.minimum(last, first_last))
        kept = Block(logits, row, inside, held, cut_threshold, cut_last, lightest, made, offset, columns, tiles)
        final_lse0 = renormalised(kept, made, wanted).lse0
    block = Block(logits, row, inside, held, cut_threshold, cut_last, lightest, made, offset, columns, tiles)
    soft = Soft(made.inv, tl.where(greedy, 0.0, final_lse0), made.lse1)
    if record:
        tl.store(lse0 + row, final_lse0, mask=drawn)
        tl.store(thresholds + row, threshold, mask=drawn)
        tl.store(sels + row, sel, mask=drawn)

    # Verification comes before any weight is made: a rejected row is drawn from the residual.
    accepted = nobody
    from_residual = nobody
    verified = nobody
    draft = tl.full([rows], -1, tl.int32)
    best = tl.zeros([rows], tl.int32)
    if verify:
        best = first_top(block, top)
        verified = ok & (tl.load(is_verify + row, mask=inside, other=0) != 0)
        draft = tl.load(draft_ids + row, mask=inside, other=-1)
        given = inside & (draft >= 0)
        draft_value = tl.load(draft_logprobs + row * columns + draft, mask=given, other=float("-inf"))
        if hold:
            draft_x = tl.where(offset == draft[:, None], held, float("-inf"))
        else:
            draft_x = elements(block, tl.maximum(draft, 0)[:, None])
        value = tl.where(given, tl.max(logprob(draft_x, soft), axis=1), float("-inf"))
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
        across = tl.arange(0, lanes)[None, :]
        walk = Block(logits, row, inside, None, cut_threshold, cut_last, lightest, made, across, columns, chunks)
    part = filled(walk, 0, tl.uint32)
    residual_part = filled(walk, 0, tl.uint32)
    for index in range(walk.tiles):
        element, place = fetch(walk, index)
        weight, logprob_out = drawn_weight(element, place, walk, soft, draft_logprobs, from_residual, verify)
        part += weight
        at = row[:, None] * columns + place
        stored = ok[:, None] & (place < columns)
        if verify:
            residual_part += residual_of(logprob_out, load(draft_logprobs, walk, place))
        if want_logprobs:
            tl.store(logprobs + at, logprob_out, mask=stored)
        if want_kept:
            tl.store(kept_columns + at, element > float("-inf"), mask=stored)
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
    found = column_at(walk, part, residue, soft, draft_logprobs, from_residual, verify, lanes, depth, runs)

    failed = ok & (greedy == 0) & (accepted == 0) & (from_residual == 0) & (total == 0)
    token = tl.where(from_residual & (total == 0), best, found)
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
        accepted = tl.where(greedy, draft == found, accepted)
        tl.store(accepts + row, tl.where(verified, accepted, verified == 0), mask=ok)
        tl.store(accept_probs + row, tl.where(verified, tl.maximum(1.0 - excess, 0.0), 1.0), mask=ok)

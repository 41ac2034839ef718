"""`exact_sample` in numpy, one row at a time: steps 1 to 5 of docs/spec/sampling.md, D, in order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import words_many
from deepinfer.sampling.exact_sample import spec
from deepinfer.sampling.exact_sample.fixed_point import logprobs, weights
from deepinfer.sampling.exact_sample.verify import write_verification
from deepinfer.sampling.params import OK, Plan
from deepinfer.sampling.reference import Draw
from deepinfer.sampling.result import SampleResult, allocate, write_draw, write_greedy
from deepinfer.sampling.spec import EXACT_SHIFT


def sample(plan: Plan, *, detail: str = "full") -> SampleResult:
    """Sample every row of `plan` whose status is OK; rows with a draft are verified. `plan.draw` is not looked at.

    The record has weights, kept, total, residue, two words, threshold and sel (docs/spec/sampling.md, D); its float
    sums are NaN, its limit 0 and its order `integer`, for nothing depends on one.
    """
    out = allocate(plan, "exact_sample", "reference", spec.ORDER, detail=detail, weight_dtype=np.uint64)
    scales, shares, renormalised = spec.scale(plan.temperature), spec.top_p32(plan.top_p), spec.renormalises(plan)
    draft_weight = np.zeros(plan.shape[0], np.uint64)
    for row in np.flatnonzero(plan.status == OK).tolist():
        if plan.greedy[row]:
            token = int(plan.logits[row].argmax())
            write_greedy(out, row, token, spec.ONE_WEIGHT)
            draft_weight[row] = spec.ONE_WEIGHT * (plan.draft_ids is not None and plan.draft_ids[row] == token)
            continue
        weight = weights(plan.logits[row], scales[row])
        kept = weight > 0
        if plan.cut[row]:
            kept &= prefix(plan.logits[row], weight, int(plan.ks[row]), int(shares[row]), bool(renormalised[row]))
            kept &= weight >= plan.min_p31 << (EXACT_SHIFT - 31)
        weight[~kept] = 0
        note_row(plan, row, out, kept, weight)
        if plan.draft_ids is not None:
            draft_weight[row] = weight[plan.draft_ids[row]]
    write_verification(plan, out, draft_weight)
    return out


def prefix(
    x: NDArray[np.float32], weight: NDArray[np.uint64], k: int, share: int, renormalised: bool
) -> NDArray[np.bool_]:
    """The columns that top-k and top-p select, bool[V]: a prefix of the order (logit descending, column ascending).

    At most `k`, and no more than make the mass exceed `share` / 2^32 of the whole (of the first k if `renormalised`).
    """
    order = np.argsort(-(x + np.float32(0)), kind="stable")
    mass = np.cumsum(weight[order])
    length = min(k, len(x))
    if share < 2**32:
        whole = int(mass[length - 1 if renormalised else -1])
        length = min(length, int(np.searchsorted(mass, np.uint64(whole * share >> 32), side="right")) + 1)
    selected = np.zeros(len(x), np.bool_)
    selected[order[:length]] = True
    return selected


def note_row(plan: Plan, row: int, out: SampleResult, kept: NDArray[np.bool_], weight: NDArray[np.uint64]) -> None:
    """Draw by the kept weights and note everything in `out`."""
    record = out.record
    drawn = draw(weight, plan.seeds[row], plan.subsequences[row])
    write_draw(out, row, drawn)
    record.threshold[row], record.sel[row] = -np.inf, len(kept)
    if plan.cut[row]:
        x = plan.logits[row] + np.float32(0)
        record.threshold[row] = x[kept].min()
        record.sel[row] = np.count_nonzero(kept & (x == record.threshold[row]))
    if out.logprobs is not None and record.kept is not None and record.weights is not None:
        out.logprobs[row], record.kept[row], record.weights[row] = logprobs(weight, drawn.total), kept, weight


def draw(weight: NDArray[np.uint64], seed: np.uint64, subsequence: np.uint64) -> Draw:
    """Step 4: residue mulhi64(word0 | word1 << 32, total), looked up in the CDF in column order."""
    first = np.zeros(1, np.uint64)
    words = words_many(np.asarray([seed]), np.asarray([subsequence]), first, spec.WORDS)[0].tolist()
    cdf = np.cumsum(weight)
    total = int(cdf[-1])
    residue = (words[0] | words[1] << 32) * total >> 64
    token = int(np.searchsorted(cdf, np.uint64(residue), side="right"))
    return Draw(token, total, 0, residue, tuple(words))

"""`fused_sample` in numpy: the baseline's fresh row, and verification of a draft token (docs/spec/sampling.md, C)."""

from __future__ import annotations

import numpy as np

from deepinfer.rng.reference import uniform_from_words
from deepinfer.rng.spec import ACCEPT, RESIDUAL
from deepinfer.sampling import reference as ref
from deepinfer.sampling.params import OK, Plan
from deepinfer.sampling.result import SampleResult, allocate, write_draw, write_greedy
from deepinfer.sampling.spec import DRAFT_PENALTY, ONE
from deepinfer.sampling.two_level.reference import distribution, fresh_row


def sample(plan: Plan, *, detail: str = "full") -> SampleResult:
    """Sample or verify every row of `plan` whose status is OK. Sums run in float64, rounded once (order `fp64`)."""
    out = allocate(plan, "fused_sample", "reference", ref.ORDER, detail=detail, weight_dtype=np.uint32)
    for row in np.flatnonzero(plan.status == OK).tolist():
        if plan.is_verify is not None and plan.is_verify[row]:
            _verify_row(plan, row, out)
            continue
        if plan.greedy[row]:
            write_greedy(out, row, int(plan.logits[row].argmax()), ONE)
        else:
            fresh_row(plan, row, out)
        if out.accept is not None and out.accept_prob is not None and out.draft_logprob is not None:
            out.accept[row], out.accept_prob[row] = True, 1
            out.draft_logprob[row] = _draft_logprob(plan, row)
    return out


def _draft_logprob(plan: Plan, row: int) -> np.float32:
    assert plan.draft_ids is not None and plan.draft_logprobs is not None
    draft = int(plan.draft_ids[row])
    return plan.draft_logprobs[row, draft] if draft >= 0 else np.float32(-np.inf)


def _verify_row(plan: Plan, row: int, out: SampleResult) -> None:
    """Accept the draft token with probability min(1, p / q), else draw from what the target has more of."""
    assert plan.draft_ids is not None and plan.draft_logprobs is not None
    assert out.accept is not None and out.accept_prob is not None and out.draft_logprob is not None
    record = out.record
    draft = int(plan.draft_ids[row])
    out.draft_logprob[row] = _draft_logprob(plan, row)
    if plan.greedy[row]:
        token = int(plan.logits[row].argmax())
        write_greedy(out, row, token, ONE)
        logprob = np.full(plan.shape[1], -np.inf, np.float32)
        logprob[token] = 0
        out.accept[row] = draft == token
    else:
        logprob, _ = distribution(plan, row, out)
        out.accept[row] = draft >= 0 and _accepted(plan, row, logprob[draft], out)
    residual = ref.weights_of(
        np.maximum(ref.exp32(logprob) - ref.exp32(plan.draft_logprobs[row] - DRAFT_PENALTY), np.float32(0))
    )
    share = np.float32(int(residual.sum(dtype=np.uint64)) & 0xFFFFFFFF) / np.float32(ONE)
    out.accept_prob[row] = max(np.float32(1) - share, np.float32(0))
    if plan.greedy[row]:
        return
    if out.accept[row]:
        out.tokens[row] = draft
        return
    record.purpose[row] = RESIDUAL
    record.subsequences[row] += np.uint64(RESIDUAL)
    if record.weights is not None:
        record.weights[row] = residual
    drawn = ref.draw(residual, plan.seeds[row], record.subsequences[row], plan.draw)
    if drawn is None:
        out.tokens[row] = int(plan.logits[row].argmax())
    else:
        write_draw(out, row, drawn)


def _accepted(plan: Plan, row: int, target: np.float32, out: SampleResult) -> bool:
    assert out.draft_logprob is not None and out.record.accept_word is not None
    word = next(ref.stream(plan.seeds[row], plan.subsequences[row] + np.uint64(ACCEPT)))
    out.record.accept_word[row] = word
    if target == -np.inf:
        return False
    u = uniform_from_words(np.asarray([word], np.uint32))[0]
    with np.errstate(invalid="ignore"):
        ratio = np.float32(target - out.draft_logprob[row])
    return bool(u < ref.exp32(np.asarray([min(ratio, np.float32(0))]))[0])

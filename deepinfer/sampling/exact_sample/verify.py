"""Coupled verification (docs/spec/sampling.md, C and D): a draft token is accepted if it is the token anyway."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepinfer.sampling.params import OK, Plan
from deepinfer.sampling.result import SampleResult


def write_verification(plan: Plan, out: SampleResult, draft_weight: NDArray[np.uint64]) -> None:
    """Fill accept, accept_prob and draft_logprob of `out`, whose tokens and totals stand; nothing without drafts.

    `draft_weight` uint64[Q] is the weight of each row's draft token (any value where it has none). `accept_prob` is
    fp32(fp64(weight) / fp64(total)): the probability, over seeds, that this draft is accepted.
    """
    if plan.is_verify is None:
        return
    assert plan.draft_ids is not None and plan.draft_logprobs is not None
    assert out.accept is not None and out.accept_prob is not None and out.draft_logprob is not None
    rows = np.flatnonzero(plan.status == OK)
    draft = plan.draft_ids[rows]
    has = draft >= 0
    checked = plan.is_verify[rows]
    share = draft_weight[rows].astype(np.float64) / out.record.total[rows].astype(np.float64)
    given = plan.draft_logprobs[rows, np.maximum(draft, 0)]
    out.accept[rows] = ~checked | (draft == out.tokens[rows])
    out.accept_prob[rows] = np.where(checked, np.where(has, share, 0), 1)
    out.draft_logprob[rows] = np.where(has, given, -np.inf)

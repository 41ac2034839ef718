"""`two_level` in numpy, one row at a time: steps A.1 to A.9 of docs/spec/sampling.md in order."""

from __future__ import annotations

import numpy as np

from deepinfer.errors import InputError
from deepinfer.sampling import reference as ref
from deepinfer.sampling.params import OK, ZERO_TOTAL, Plan
from deepinfer.sampling.result import SampleResult, allocate, write_draw, write_greedy
from deepinfer.sampling.spec import ONE


def sample(plan: Plan, *, detail: str = "full") -> SampleResult:
    """Sample every row of `plan` whose status is OK. Sums run in float64 and are rounded once (order `fp64`)."""
    if plan.is_verify is not None:
        raise InputError("two_level draws fresh tokens only: fused_sample verifies draft tokens")
    out = allocate(plan, "two_level", "reference", ref.ORDER, detail=detail, weight_dtype=np.uint32)
    for row in np.flatnonzero(plan.status == OK).tolist():
        if plan.greedy[row]:
            write_greedy(out, row, int(plan.logits[row].argmax()), ONE)
        else:
            fresh_row(plan, row, out)
    return out


def fresh_row(plan: Plan, row: int, out: SampleResult) -> None:
    """One row without a draft: log-softmax, cut, renormalisation, weights, draw."""
    _, weight = distribution(plan, row, out)
    drawn = ref.draw(weight, plan.seeds[row], plan.subsequences[row], plan.draw)
    if drawn is None:
        out.record.status[row] = ZERO_TOTAL
        return
    write_draw(out, row, drawn)


def distribution(plan: Plan, row: int, out: SampleResult) -> tuple[ref.F32, np.ndarray]:
    """Steps A.1 to A.6: (log-probabilities float32[V], weights uint32[V]), noted in `out`."""
    x = plan.logits[row]
    soft = ref.softmax(x, plan.inv_temperature[row])
    record = out.record
    record.lse[row] = soft.lse0, soft.lse1
    kept, threshold, sel = x > -np.inf, np.float32(-np.inf), len(x)
    if plan.cut[row]:
        final, soft = ref.filtered(
            x,
            soft,
            int(plan.ps[row]),
            int(plan.ks[row]),
            bool(plan.top_p[row] < 1),
            plan.filter_order,
            plan.min_p31,
        )
        kept, threshold, sel = final.kept, final.threshold, final.sel
    logprob = np.where(kept, soft.logprob(x), np.float32(-np.inf))
    weight = ref.weights_of(ref.exp32(logprob))
    record.lse0[row], record.threshold[row], record.sel[row] = soft.lse0, threshold, sel
    if out.logprobs is not None and record.kept is not None and record.weights is not None:
        out.logprobs[row], record.kept[row], record.weights[row] = logprob, kept, weight
    return logprob, weight

"""`exact_sample` in C++ (csrc/cpu/exact_sample.cpp): the reference's bits at any SIMD level and thread count."""

from __future__ import annotations

import numpy as np

from deepinfer.native import pointer
from deepinfer.sampling import native_call
from deepinfer.sampling.exact_sample import spec
from deepinfer.sampling.exact_sample.verify import write_verification
from deepinfer.sampling.params import Plan
from deepinfer.sampling.result import SampleResult, allocate


def sample(
    plan: Plan, *, detail: str = "full", threads: int | None = None, level: int | str | None = None
) -> SampleResult:
    """As deepinfer.sampling.exact_sample.reference.sample, bit for bit.

    `threads` (None: every CPU this process may use) and `level` (None: the widest SIMD level of this CPU) never change
    a bit. With detail="tokens" memory beyond the result is a few rows of scratch for each thread.
    """
    out = allocate(plan, "exact_sample", "native", spec.ORDER, detail=detail, weight_dtype=np.uint64)
    scale, share = spec.scale(plan.temperature), spec.top_p32(plan.top_p)
    draft_weight = np.zeros(plan.shape[0], np.uint64)
    native_call.call(
        "exact_sample",
        plan,
        out,
        pointer(scale, np.float32),
        pointer(share, np.uint64),
        pointer(draft_weight, np.uint64, write=True),
        weight_dtype=np.uint64,
        threads=threads,
        level=level,
    )
    write_verification(plan, out, draft_weight)
    return out

"""`fused_sample` in C++ (csrc/cpu/fused_sample.cpp): docs/spec/sampling.md, C, with the verification of draft tokens.

Order id `fp32_lanes16`: as `fp64_lanes16` of `two_level`, but in float32 throughout. That is the only difference
between the two native samplers on fresh rows.
"""

from __future__ import annotations

import numpy as np

from deepinfer.sampling.native_call import call
from deepinfer.sampling.params import Plan
from deepinfer.sampling.result import SampleResult, allocate

ORDER = "fp32_lanes16"


def sample(
    plan: Plan, *, detail: str = "full", threads: int | None = None, level: int | str | None = None
) -> SampleResult:
    """Sample or verify every row of `plan` whose status is OK.

    `threads` (None: every CPU this process may use) and `level` (None: the widest SIMD level of this CPU) change the
    speed alone. detail="tokens" allocates nothing of the size of the logits.
    """
    out = allocate(plan, "fused_sample", "native", ORDER, detail=detail, weight_dtype=np.uint32)
    call("fused_sample", plan, out, weight_dtype=np.uint32, threads=threads, level=level)
    return out

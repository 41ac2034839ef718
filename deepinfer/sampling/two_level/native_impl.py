"""`two_level` in C++ (csrc/cpu/two_level.cpp): docs/spec/sampling.md, A, rows over threads, sixteen columns at a time.

Order id `fp64_lanes16`: S and the kept mass are summed in float64, in 16 lanes and a tree of blocks of 512 columns
(the specification writes the order down), and rounded once to float32. exp and log are the project's own
(`deepinfer.sampling.elementary`). Neither the SIMD level nor the number of threads changes a bit.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.native import check_level, check_threads, load, pointer
from deepinfer.sampling.native_call import call, check_code
from deepinfer.sampling.params import Plan
from deepinfer.sampling.result import SampleResult, allocate

ORDER = "fp64_lanes16"


def sample(
    plan: Plan, *, detail: str = "full", threads: int | None = None, level: int | str | None = None
) -> SampleResult:
    """Sample every row of `plan` whose status is OK.

    `threads` (None: every CPU this process may use) and `level` (None: the widest SIMD level of this CPU) change the
    speed alone. detail="tokens" allocates nothing of the size of the logits.
    """
    if plan.is_verify is not None:
        raise InputError("two_level draws fresh tokens only: fused_sample verifies draft tokens")
    out = allocate(plan, "two_level", "native", ORDER, detail=detail, weight_dtype=np.uint32)
    call("two_level", plan, out, weight_dtype=np.uint32, threads=threads, level=level)
    return out


def draw_rows(
    probs: NDArray[np.float32],
    seeds: NDArray[np.uint64],
    subsequences: NDArray[np.uint64],
    rule: str,
    *,
    threads: int | None = None,
    level: int | str | None = None,
) -> NDArray[np.int32]:
    """Steps A.6 to A.8 for rows that `draw_tokens` has checked: tokens int32[Q]. `threads`, `level` as in `sample`."""
    rows, columns = probs.shape
    tokens = np.empty(rows, np.int32)
    code = load("two_level").two_level_draw(
        int(check_level(level)),
        check_threads(threads),
        pointer(probs, np.float32, name="probs"),
        ctypes.c_int64(rows),
        ctypes.c_int64(columns),
        pointer(seeds, np.uint64, name="seeds"),
        pointer(subsequences, np.uint64, name="subsequences"),
        int(rule == "multiply_shift"),
        pointer(tokens, np.int32, write=True),
    )
    check_code(code, columns)
    return tokens

"""How a native sampler is called: the Plan and the SampleResult as the C structures of csrc/include/sampling_abi.h."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from deepinfer.native import check_level, check_threads, load, pointer
from deepinfer.sampling.params import Plan
from deepinfer.sampling.result import MAX_WORDS, SampleResult

POINTER = ctypes.c_void_p
OUT_OF_MEMORY = 1
"""What a kernel returns when a thread's scratch cannot be allocated; 0 is success."""


class PlanStruct(ctypes.Structure):
    """`struct sampling_plan`, field by field."""

    _fields_ = (
        ("rows", ctypes.c_int64),
        ("columns", ctypes.c_int64),
        ("logits", POINTER),
        ("inv_temperature", POINTER),
        ("temperature", POINTER),
        ("top_p", POINTER),
        ("ps", POINTER),
        ("ks", POINTER),
        ("cut", POINTER),
        ("greedy", POINTER),
        ("seeds", POINTER),
        ("subsequences", POINTER),
        ("draft_logprobs", POINTER),
        ("draft_ids", POINTER),
        ("is_verify", POINTER),
        ("min_p31", ctypes.c_uint32),
        ("multiply_shift", ctypes.c_int32),
        ("top_k_first", ctypes.c_int32),
        ("max_words", ctypes.c_int32),
    )


class ResultStruct(ctypes.Structure):
    """`struct sampling_result`, field by field."""

    _fields_ = tuple(
        (name, POINTER)
        for name in (
            *("tokens", "status", "lse", "lse0", "threshold", "sel", "total", "limit", "residue", "words"),
            *("word_count", "purpose", "subsequences", "logprobs", "kept", "weights", "accept_word", "accept"),
            *("accept_prob", "draft_logprob"),
        )
    )


def plan_struct(plan: Plan) -> PlanStruct:
    """`plan` for C; the caller keeps `plan` alive during the call."""
    rows, columns = plan.shape
    return PlanStruct(
        rows=rows,
        columns=columns,
        logits=pointer(plan.logits, np.float32, name="logits"),
        inv_temperature=pointer(plan.inv_temperature, np.float32, name="inv_temperature"),
        temperature=pointer(plan.temperature, np.float32, name="temperature"),
        top_p=pointer(plan.top_p, np.float32, name="top_p"),
        ps=pointer(plan.ps, np.uint32, name="ps"),
        ks=pointer(plan.ks, np.int64, name="ks"),
        cut=pointer(plan.cut, np.bool_, name="cut"),
        greedy=pointer(plan.greedy, np.bool_, name="greedy"),
        seeds=pointer(plan.seeds, np.uint64, name="seeds"),
        subsequences=pointer(plan.subsequences, np.uint64, name="subsequences"),
        draft_logprobs=pointer(plan.draft_logprobs, np.float32, name="draft_logprobs"),
        draft_ids=pointer(plan.draft_ids, np.int32, name="draft_ids"),
        is_verify=pointer(plan.is_verify, np.bool_, name="is_verify"),
        min_p31=plan.min_p31,
        multiply_shift=plan.draw == "multiply_shift",
        top_k_first=plan.filter_order == "top_k_first",
        max_words=MAX_WORDS,
    )


def result_struct(out: SampleResult, weight_dtype: Any) -> ResultStruct:
    """The arrays of `out` for C to fill; the caller keeps `out` alive during the call."""
    record = out.record
    return ResultStruct(
        tokens=pointer(out.tokens, np.int32, write=True),
        status=pointer(record.status, np.int32, write=True),
        lse=pointer(record.lse, np.float32, write=True),
        lse0=pointer(record.lse0, np.float32, write=True),
        threshold=pointer(record.threshold, np.float32, write=True),
        sel=pointer(record.sel, np.int64, write=True),
        total=pointer(record.total, np.uint64, write=True),
        limit=pointer(record.limit, np.uint64, write=True),
        residue=pointer(record.residue, np.uint64, write=True),
        words=pointer(record.words, np.uint32, write=True),
        word_count=pointer(record.word_count, np.int32, write=True),
        purpose=pointer(record.purpose, np.int32, write=True),
        subsequences=pointer(record.subsequences, np.uint64, write=True),
        logprobs=pointer(out.logprobs, np.float32, write=True),
        kept=pointer(record.kept, np.bool_, write=True),
        weights=pointer(record.weights, weight_dtype, write=True),
        accept_word=pointer(record.accept_word, np.uint32, write=True),
        accept=pointer(out.accept, np.bool_, write=True),
        accept_prob=pointer(out.accept_prob, np.float32, write=True),
        draft_logprob=pointer(out.draft_logprob, np.float32, write=True),
    )


def call(
    name: str,
    plan: Plan,
    out: SampleResult,
    *extra: Any,
    weight_dtype: Any,
    threads: int | None = None,
    level: int | str | None = None,
) -> None:
    """Fill `out` by `NAME_run(level, threads, &plan, &result, *extra)` of the native library NAME.

    `extra` are ctypes values, of arrays that the caller keeps alive. `threads` (None: every CPU this process may use)
    and `level` (None: the widest SIMD level of this CPU) never change a bit of the result. Raises MemoryError when a
    thread's scratch cannot be allocated.
    """
    run = getattr(load(name), f"{name}_run")
    code = run(
        int(check_level(level)),
        check_threads(threads),
        ctypes.byref(plan_struct(plan)),
        ctypes.byref(result_struct(out, weight_dtype)),
        *extra,
    )
    check_code(code, plan.shape[1])


def check_code(code: int, columns: int) -> None:
    """Raise for a kernel's return code."""
    if code == OUT_OF_MEMORY:
        raise MemoryError(f"no memory for the scratch of a row of {columns} columns")
    assert code == 0, code

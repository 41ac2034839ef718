"""The distribution of the `fused_sample` kernel: log-softmax, renormalisation, what is kept, and the residual."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from deepinfer.sampling.fused_sample.triton_kernel_parts import (
    Soft,
    exp_of,
    fetch,
    filled,
    fixed,
    log_of,
    logprob,
    probability_at,
    survives,
    weight_of,
    widened,
)


class Target(NamedTuple):
    """The processed distribution of each row: `soft` over what `cut`, made with `made`, keeps.

    Weights (with `made`) below `lightest` are dropped; None: no min_p. A `greedy` row is all on column `best`.
    """

    cut: Any
    made: Any
    lightest: Any
    soft: Any
    greedy: Any
    best: Any


@triton.jit
def softmax_rows(block, inv):  # type: ignore[no-untyped-def]
    """A.1: (Soft, row maximum, its first column, status) of each row; the status is that of `params.row_status`."""
    top_part = filled(block, float("-inf"), tl.float32)
    bad_part = filled(block, 0, tl.int32)
    for index in range(block.tiles):
        x, _ = fetch(block, index)
        top_part = tl.maximum(top_part, x)
        bad_part = bad_part | (x != x).to(tl.int32)
    top = tl.max(top_part, axis=1)
    empty = tl.where(top == float("-inf"), 3, 0)
    status = tl.where(tl.max(bad_part, axis=1) > 0, 1, tl.where(top == float("inf"), 2, empty))
    part = filled(block, 0, tl.int64)
    best_part = filled(block, block.columns, tl.int32)
    for index in range(block.tiles):
        x, column = fetch(block, index)
        part += fixed(exp_of((x - top[:, None]) * inv[:, None]), block)
        best_part = tl.minimum(best_part, tl.where(x == top[:, None], column, block.columns))
    lse0 = -log_of(tl.sum(part, axis=1), block)
    return Soft(inv, lse0, -top), top, tl.min(best_part, axis=1), status


@triton.jit
def min_p_weight(soft, top, min_p31):  # type: ignore[no-untyped-def]
    """The lightest weight that min_p keeps, int64: the least w with w * 2^31 >= min_p31 * (weight of the maximum)."""
    heaviest = widened(weight_of(probability_at(top, soft)))
    return (heaviest * min_p31 + 2147483647) >> 31


@triton.jit
def kept_of(x, column, cut, soft, lightest):  # type: ignore[no-untyped-def]
    """Which elements the cut and min_p keep; `soft` is the one that the cut was made with."""
    kept = survives(x, column, cut)
    if lightest is not None:
        kept = kept & (widened(weight_of(exp_of(logprob(x, soft)))) >= lightest[:, None])
    return kept


@triton.jit
def renormalised(block, soft, cut, lightest, wanted):  # type: ignore[no-untyped-def]
    """A.5, in the log domain, for the rows `wanted`."""
    part = filled(block, 0, tl.int64)
    for index in range(block.tiles):
        x, column = fetch(block, index)
        kept = kept_of(x, column, cut, soft, lightest)
        part += fixed(tl.where(kept, exp_of(logprob(x, soft)), 0.0), block)
    lse0 = soft.lse0 - log_of(tl.sum(part, axis=1), block)
    return Soft(soft.inv, tl.where(wanted, lse0, soft.lse0), soft.lse1)


@triton.jit
def target_of(x, column, target):  # type: ignore[no-untyped-def]
    """(log-probability, kept) of elements in the processed distribution; -inf where dropped."""
    kept = kept_of(x, column, target.cut, target.made, target.lightest)
    kept = tl.where(target.greedy[:, None], column == target.best[:, None], kept)
    value = tl.where(target.greedy[:, None], 0.0, logprob(x, target.soft))
    return tl.where(kept, value, float("-inf")), kept

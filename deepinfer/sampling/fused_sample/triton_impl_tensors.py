"""`fused_sample` on tensors where they are: one launch, nothing copied, converted, synchronised or read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from deepinfer.errors import InputError, unknown_name
from deepinfer.sampling import checks
from deepinfer.sampling.fused_sample.triton_impl import run_kernel, shape_of
from deepinfer.sampling.spec import DRAWS, FILTER_ORDERS, ONE
from deepinfer.sampling.triton_call import check_device, check_tensor


@dataclass(frozen=True)
class TensorResult:
    """`tokens` int32[Q], -1 where `status` int32[Q] is not 0 (params.STATUS); `logprobs` float32[Q, V] or None; for
    verification `accept` bool[Q], `accept_prob` float32[Q] and `draft_logprob` float32[Q], else None. A row that cannot
    be sampled keeps in the others what its memory held."""

    tokens: torch.Tensor
    status: torch.Tensor
    logprobs: torch.Tensor | None = None
    accept: torch.Tensor | None = None
    accept_prob: torch.Tensor | None = None
    draft_logprob: torch.Tensor | None = None


def empty_result(logits: torch.Tensor, *, logprobs: bool = True, verify: bool = False) -> TensorResult:
    """Memory for the result of `logits`, not yet written."""
    shape = tuple(logits.shape)

    def make(dtype: torch.dtype, *size: int) -> torch.Tensor:
        return torch.empty(size, dtype=dtype, device=logits.device)

    return TensorResult(
        tokens=make(torch.int32, shape[0]),
        status=make(torch.int32, shape[0]),
        logprobs=make(torch.float32, *shape) if logprobs else None,
        accept=make(torch.bool, shape[0]) if verify else None,
        accept_prob=make(torch.float32, shape[0]) if verify else None,
        draft_logprob=make(torch.float32, shape[0]) if verify else None,
    )


def sample_tensors(
    logits: torch.Tensor,
    *,
    temperature: torch.Tensor,
    top_p: torch.Tensor,
    top_k: torch.Tensor,
    seq_seed: torch.Tensor,
    position: torch.Tensor,
    draft_logprobs: torch.Tensor | None = None,
    draft_ids: torch.Tensor | None = None,
    is_verify: torch.Tensor | None = None,
    draw: str = "modulo_reject",
    filter_order: str = "joint",
    min_p: float = 0.0,
    out: TensorResult | None = None,
    rows: int | None = None,
    tile: int | None = None,
    warps: int | None = None,
) -> TensorResult:
    """`sample("fused_sample", ...)` in numbering `absolute`, without a record, for contiguous tensors of one device.

    `logits` and `draft_logprobs` are float32[Q, V]; `temperature` and `top_p` float32[Q]; `top_k` and `position`
    int64[Q]; `seq_seed` int64[Q], the bits of the unsigned seed; `draft_ids` int32[Q]; `is_verify` bool[Q]. Dtype,
    shape and device of each are checked. Values are on the device and are not: they must be what `SamplerInputs`
    allows. `out` (see `empty_result`) is filled and returned: with it nothing is allocated, so that the call can be
    captured in a CUDA graph. The other options are those of `sample` and of `triton_impl.sample`.
    """
    if draw not in DRAWS:
        raise unknown_name("draw rule", draw, DRAWS)
    if filter_order not in FILTER_ORDERS:
        raise unknown_name("filter order", filter_order, FILTER_ORDERS)
    check_tensor("logits", logits, torch.float32, None, None)
    if logits.ndim != 2 or logits.shape[1] < 1:
        raise InputError(f"logits have shape {tuple(logits.shape)}: give [rows, columns] with at least one column")
    check_device(str(logits.device))
    count, columns = logits.shape
    given: dict[str, tuple[Any, torch.dtype]] = {
        "temperature": (temperature, torch.float32),
        "top_p": (top_p, torch.float32),
        "top_k": (top_k, torch.int64),
        "seq_seed": (seq_seed, torch.int64),
        "position": (position, torch.int64),
    }
    drafts: dict[str, tuple[Any, torch.dtype]] = {
        "draft_logprobs": (draft_logprobs, torch.float32),
        "draft_ids": (draft_ids, torch.int32),
        "is_verify": (is_verify, torch.bool),
    }
    verify = any(value is not None for value, _ in drafts.values())
    made = empty_result(logits, verify=verify) if out is None else out
    kept: dict[str, tuple[Any, torch.dtype]] = {
        "out.tokens": (made.tokens, torch.int32),
        "out.status": (made.status, torch.int32),
        **({} if made.logprobs is None else {"out.logprobs": (made.logprobs, torch.float32)}),
    }
    if verify:
        given |= drafts
        kept["out.accept"] = (made.accept, torch.bool)
        kept["out.accept_prob"] = (made.accept_prob, torch.float32)
        kept["out.draft_logprob"] = (made.draft_logprob, torch.float32)
    for name, (value, dtype) in {**given, **kept}.items():
        shape = (count, columns) if name.endswith("logprobs") else (count,)
        check_tensor(name, value, dtype, shape, logits.device)
    tensors: dict[str, Any] = {
        "logits": logits,
        "temperature": temperature,
        "top_p": top_p,
        "top_k": top_k,
        "seeds": seq_seed,
        "places": position,
        "draft_logprobs": draft_logprobs,
        "draft_ids": draft_ids,
        "is_verify": is_verify,
        "tokens": made.tokens,
        "statuses": made.status,
        "logprobs": made.logprobs,
        "accepts": made.accept,
        "accept_probs": made.accept_prob,
        "draft_values": made.draft_logprob,
    }
    run_kernel(
        shape_of(count, columns, rows, tile, warps),
        tensors,
        stride=3,
        draw=draw,
        filter_order=filter_order,
        min_p31=int(np.floor(np.float64(checks.min_p(min_p)) * ONE)),
    )
    return made

"""Three samplers behind one function; which one and on which backend is the caller's word (docs/spec/sampling.md)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deepinfer.errors import MissingExtra, unknown_name
from deepinfer.sampling.draw import draw_tokens
from deepinfer.sampling.params import SamplerInputs, SamplingParams, prepare, raise_for_status
from deepinfer.sampling.result import Record, SampleResult

__all__ = ["BACKENDS", "Record", "SampleResult", "SamplerInputs", "SamplingParams", "draw_tokens", "sample"]

BACKENDS = {
    "two_level": {
        "reference": "deepinfer.sampling.two_level.reference",
        "native": "deepinfer.sampling.two_level.native_impl",
    },
    "fused_sample": {
        "reference": "deepinfer.sampling.fused_sample.reference",
        "triton": "deepinfer.sampling.fused_sample.triton_impl",
        "native": "deepinfer.sampling.fused_sample.native_impl",
    },
    "exact_sample": {
        "reference": "deepinfer.sampling.exact_sample.reference",
        "native": "deepinfer.sampling.exact_sample.native_impl",
        "triton": "deepinfer.sampling.exact_sample.triton_impl",
    },
}
"""Sampler name -> backend name -> module with a `sample(plan, *, detail)`."""


def sample(
    name: str,
    inputs: SamplerInputs,
    *,
    backend: str,
    draw: str = "modulo_reject",
    numbering: str = "absolute",
    filter_order: str = "joint",
    min_p: float | None = None,
    on_error: str = "raise",
    detail: str = "full",
) -> SampleResult:
    """Draw one token for each row of `inputs`.

    `name` is `two_level`, `fused_sample` or `exact_sample`; `backend` one of BACKENDS[name]. `draw` is
    `modulo_reject` (upstream's) or `multiply_shift`; `exact_sample` has its own draw and ignores it. With
    on_error="mask" a row that cannot be sampled gets token -1 and a status in the record, and the others are
    answered; otherwise InputError names it. detail="tokens" leaves out logprobs, kept and weights.
    """
    if name not in BACKENDS:
        raise unknown_name("sampler", name, list(BACKENDS))
    if backend not in BACKENDS[name]:
        raise unknown_name(f"backend of {name}", backend, list(BACKENDS[name]))
    plan = prepare(
        name, inputs, draw=draw, numbering=numbering, filter_order=filter_order, min_p=min_p, on_error=on_error
    )
    result: SampleResult = _module(name, backend).sample(plan, detail=detail)
    if on_error == "raise":
        raise_for_status(result.record.status)
    return result


def _module(name: str, backend: str) -> Any:
    if backend == "triton":
        for extra in ("torch", "triton"):
            try:
                import_module(extra)
            except ImportError:
                raise MissingExtra(f"{name} on backend {backend!r}", "engine", extra) from None
    return import_module(BACKENDS[name][backend])

"""vLLM's V1 sampler on its native path: min-p, top-k, top-p, then argmax(probability / exponential noise).

A seeded request has a generator of its own, so its row does not depend on the batch; unseeded rows share one tensor of
noise. On CUDA unseeded batches with a filter go to FlashInfer instead, unless a neighbour is seeded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.streams.samplers import cut as cuts
from repro.streams.samplers.params import Params
from repro.streams.samplers.result import Replay
from repro.streams.samplers.torch_race import noise_of_batch, noise_of_requests, race_of_probabilities

F32 = NDArray[np.float32]
LANES = {"cpu": 8, "cuda": 1024}
BAND = 2.0**-17
"""The Triton filter halves the range of probabilities 18 times: its threshold is within this of the exact one."""


def replay_cpu(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """random_sample on a CPU; not the fused C++ sampler."""
    return _replay("vllm_v1_cpu", "cpu", version, logits, params, facts)


def replay_cuda(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """random_sample on a GPU."""
    return _replay("vllm_v1_cuda", "cuda", version, logits, params, facts)


def _replay(engine: str, device: str, version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    scaled, cut = filtered(logits, params, device)
    if facts["generator"] == "request":
        noise, error = noise_of_requests(device, facts, logits.shape[1])
    else:
        noise, error = noise_of_batch(device, facts, *logits.shape)
    return race_of_probabilities(engine, version, scaled, cut, noise, error)


def filtered(logits: F32, params: Params, device: str) -> tuple[F32, cuts.Cut]:
    """Logits after the temperature, and what survives: exactly k columns, the first of equal ones; the smallest set of
    them that reaches top_p; before both, min-p of the whole row."""
    scaled = logits / params.temperature[:, None]
    error = cuts.sum_error(logits.shape[1], LANES[device])
    first = cuts.min_p_share(scaled, cuts.everything(scaled), params.min_p, error)
    left = cuts.top_k_first_ties(np.where(first.kept, scaled, np.float32(-np.inf)), params.top_k)
    cut = cuts.top_p_mass(left, params.top_p, error, BAND)
    return scaled, cuts.Cut(cut.kept, cut.doubtful | (first.doubtful & (left > -np.inf)))

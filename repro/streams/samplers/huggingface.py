"""Hugging Face transformers: temperature, top-k, top-p, min-p, then torch.multinomial over the whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.streams.samplers import cut as cuts
from repro.streams.samplers.params import Params
from repro.streams.samplers.result import Replay
from repro.streams.samplers.torch_race import noise_of_batch, race_of_probabilities

F32 = NDArray[np.float32]
LANES = {"cpu": 8, "cuda": 1024}


def replay_cpu(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """The rows are the whole batch, in order."""
    return _replay("huggingface_cpu", "cpu", version, logits, params, facts)


def replay_cuda(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """The rows are the whole batch, in order."""
    return _replay("huggingface_cuda", "cuda", version, logits, params, facts)


def _replay(engine: str, device: str, version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    scaled, cut = filtered(logits, params, LANES[device])
    noise, error = noise_of_batch(device, facts, *logits.shape)
    return race_of_probabilities(engine, version, scaled, cut, noise, error)


def filtered(logits: F32, params: Params, lanes: int) -> tuple[F32, cuts.Cut]:
    """Logits after the temperature, and what survives: every tie of the k-th value; top-p of what top-k left; min-p of
    what top-p left."""
    scaled = logits / params.temperature[:, None]
    left = cuts.top_k_all_ties(scaled, params.top_k)
    error = cuts.sum_error(logits.shape[1], lanes)
    cut = cuts.top_p_mass(left, params.top_p, error)
    return scaled, cuts.min_p_share(scaled, cut, params.min_p, error)

"""The race that torch's users write: argmax of probability / exponential noise, in float32.

`torch.multinomial(p, 1)` is this race; so are vLLM's V1 sampler and SGLang's unseeded one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import uniform_from_words
from repro.streams import torch_values as values
from repro.streams.samplers.cut import Cut
from repro.streams.samplers.race import race
from repro.streams.samplers.result import Replay
from repro.streams.torch_cpu import TorchCpu
from repro.streams.torch_cuda import TorchCuda

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
PROBABILITY_ERROR = 2.0**-21
"""Relative error of one probability against its neighbours and of the division: exp within 2 units in the last place,
three roundings. The sum in the denominator is the same for the whole row and cannot change the winner."""
BOUND = "probabilities within 2^-21 of their ratio; noise exact on a CPU, within __logf's documented error on a GPU"


def race_of_probabilities(engine: str, version: str, logits: F32, cut: Cut, noise: F32, noise_error: F64) -> Replay:
    """`logits` float32[Q, V] after the temperature; `noise` float32[Q, V] and its absolute error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (logits - logits.max(axis=1, keepdims=True)).astype(np.float64)
        score = distance - np.log(noise.astype(np.float64))
        error = PROBABILITY_ERROR + noise_error / noise
    return race(engine, version, score, np.where(np.isfinite(error), error, 0.0), cut, BOUND)


def noise_of_requests(device: str, facts: dict[str, Any], columns: int) -> tuple[F32, F64]:
    """Each row from a generator of its own, in state (seed, offset)."""
    parts = [_filled(device, facts, seed, at, columns) for seed, at in _states(device, facts)]
    return np.stack([noise for noise, _ in parts]), np.stack([error for _, error in parts])


def noise_of_batch(device: str, facts: dict[str, Any], rows: int, columns: int) -> tuple[F32, F64]:
    """All rows from one generator: a tensor of the whole batch, row after row."""
    seed, at = next(_states(device, facts))
    noise, error = _filled(device, facts, seed, at, rows * columns)
    return noise.reshape(rows, columns), error.reshape(rows, columns)


def _states(device: str, facts: dict[str, Any]) -> Any:
    seeds = facts["seed"] if isinstance(facts["seed"], list) else [facts["seed"]]
    name = "offset" if device == "cuda" else "start"
    starts = facts[name] if isinstance(facts[name], list) else [facts[name]]
    return zip(seeds, starts, strict=True)


def _filled(device: str, facts: dict[str, Any], seed: int, at: int, count: int) -> tuple[F32, F64]:
    if device == "cpu":
        return TorchCpu(seed, at).exponentials(count), np.zeros(count)
    made = TorchCuda(seed, at, facts["sm_count"], facts["threads_per_sm"])
    u = uniform_from_words(made.words(count))
    return values.exponential(u), values.exponential_error(u)

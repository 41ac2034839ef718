"""numpy.random.Generator.choice(n, p=p) and RandomState.choice: one uniform through the float64 running sum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from repro.streams.numpy_bits import NumpyBits
from repro.streams.samplers.params import Params
from repro.streams.samplers.result import EXACT, Replay

F32 = NDArray[np.float32]
LEGACY = "legacy"


def replay(version: str, rows: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """`rows` are the probabilities as float32; choice gets them as float64, divided by their sum. `draws` counts the
    choices that the generator made before. `bit_generator` legacy is RandomState."""
    if (params.temperature != 1).any() or params.filtered.any() or (params.top_k < rows.shape[1]).any():
        raise InputError("numpy's choice takes probabilities: leave temperature, top_k, top_p and min_p alone")
    tokens = []
    for row, (seed, draws) in enumerate(zip(facts["seed"], facts["draws"], strict=True)):
        wide = rows[row].astype(np.float64)
        tokens.append(choice(wide / wide.sum(), _uniform(facts["bit_generator"], seed, draws)))
    possible = tuple((token,) for token in tokens)
    return Replay("numpy", version, np.asarray(tokens), (EXACT,) * len(tokens), possible, "none: float64 in order")


def choice(probabilities: NDArray[np.float64], u: float) -> int:
    """The column that choice returns for a uniform u in [0, 1)."""
    running = probabilities.cumsum()
    running /= running[-1]
    return int(running.searchsorted(u, side="right"))


def _uniform(name: str, seed: int, draws: int) -> float:
    if name == LEGACY:
        if seed >= 2**32:
            raise InputError(f"seed is {seed}: RandomState takes seeds below 2^32")
        return float(np.random.RandomState(seed).random_sample(draws + 1)[-1])
    return float(NumpyBits(name, seed).uniforms(draws + 1)[-1])

"""jax.random.categorical of float32 logits: argmax(logit + Gumbel noise), the first of equals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from repro.streams.jax import Jax
from repro.streams.samplers.cut import everything
from repro.streams.samplers.params import Params
from repro.streams.samplers.race import HALF_ULP, race
from repro.streams.samplers.result import Replay

F32 = NDArray[np.float32]
BOUND = (
    "noise within 2^-20 + 2^-21 |noise| plus the inner logarithm's 2^-22 (XLA's float32 polynomials), one rounded sum"
)


def replay(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """`keying` row: a key for each row (`seed` per row); batch: the first key for the whole array. Filters are the
    caller's, as -inf logits."""
    count, columns = logits.shape
    if (params.temperature != 1).any() or params.filtered.any() or (params.top_k < columns).any():
        raise InputError("JAX has no filters: give final logits, -inf where masked, and leave the parameters alone")
    made = [Jax(facts["impl"], seed, facts["partitionable"], facts["x64"]) for seed in facts["seed"]]
    if facts["keying"] == "row":
        noise = np.stack([one.gumbel(columns, facts["mode"]) for one in made])
    else:
        noise = made[0].gumbel(count * columns, facts["mode"]).reshape(count, columns)
    score = logits.astype(np.float64) + noise
    inner = 2.0**-22 * np.exp(np.clip(noise, -40.0, 40.0)) * 2.0**-2
    error = 2.0**-20 + 2.0**-21 * np.abs(noise) + inner + HALF_ULP * np.abs(score)
    cut = everything(logits)
    return race("jax", version, score, np.where(cut.kept, error, 0.0), cut, BOUND)

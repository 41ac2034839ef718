"""TensorRT-LLM's C++ top-k and top-p: one XORWOW uniform a token, a walk in rank order. Written from its source alone.

`curandState_t` is XORWOW, curand_init(seed, 0, 0), one state a slot that goes on through the steps. The top-p walk ends
at top_p of the mass, so the last token of the nucleus gets what is left of top_p, not its own weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import uniform_from_words
from repro.streams.samplers import cut as cuts
from repro.streams.samplers.params import Params
from repro.streams.samplers.result import AMBIGUOUS, CERTAIN, Replay
from repro.streams.xorwow import xorwow_words

F32 = NDArray[np.float32]
BOUND = "unverified: probabilities and running sums within (V / 256 + 48) 2^-24 of themselves"


def replay(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """`draws` counts the tokens that the slot's state drew before."""
    scaled = logits / params.temperature[:, None]
    probability = cuts.softmax(scaled)
    order = np.argsort(-scaled, axis=1, kind="stable")
    ordered = np.take_along_axis(probability, order, axis=1)
    error = (logits.shape[1] / 256 + 48) * 2.0**-24
    tokens, certificate, possible = [], [], []
    for row in range(len(logits)):
        k, p = int(params.top_k[row]), float(params.top_p[row])
        words = xorwow_words([facts["seed"][row]], [0], [facts["draws"][row]], 1)
        upper = np.cumsum(ordered[row, :k])
        target = float(uniform_from_words(words)[0, 0]) * p * upper[-1]
        can = np.flatnonzero((upper * (1 + error) >= target) & ((upper - ordered[row, :k]) * (1 - error) < target))
        likely = min(int(np.argmax(upper >= target)), k - 1)
        allowed = [likely, *(rank for rank in can.tolist() if rank != likely)]
        tokens.append(int(order[row, likely]))
        possible.append(tuple(int(order[row, rank]) for rank in allowed))
        certificate.append(CERTAIN if len(allowed) == 1 else AMBIGUOUS)
    return Replay("tensorrt_llm", version, np.asarray(tokens), tuple(certificate), tuple(possible), BOUND)

"""DeepInfer's samplers: upstream's two_level by the stated error of its weights, and exact_sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng import words_many
from deepinfer.sampling import SamplerInputs, sample
from deepinfer.sampling.result import SampleResult
from deepinfer.sampling.spec import cdf_order, rejection_limit
from repro.streams.samplers.params import Params
from repro.streams.samplers.result import AMBIGUOUS, CERTAIN, EXACT, Replay

F32 = NDArray[np.float32]
WEIGHT_ERROR = 2.0**-21
"""Relative error of a weight against another implementation's: a log-probability within 2 units in the last place."""
BOUND = "weights within 2^-21 of themselves and one unit each; the total's side of 2^31 within as much"
WORDS = 64


def replay_exact(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """exact_sample: integers after two operations, the same token everywhere."""
    drawn = _sample("exact_sample", logits, params, facts)
    possible = tuple((int(token),) for token in drawn.tokens)
    exact = (EXACT,) * len(logits)
    return Replay("exact_sample", version, drawn.tokens.astype(np.int64), exact, possible, "none", drawn.record.kept)


def replay_deepinfer(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """DeepInfer's fused_sample, in either numbering. Another kept column, by a threshold crossing, is not foreseen: it
    is the drift analysis' to show."""
    drawn = _sample("two_level", logits, params, facts)
    record = drawn.record
    assert record.weights is not None and record.kept is not None
    order, possible, certificate = cdf_order(logits.shape[1]), [], []
    for row, token in enumerate(drawn.tokens.tolist()):
        words = words_many([record.seeds[row]], [record.subsequences[row]], [0], WORDS)[0].tolist()
        others = _others(record.weights[row][order].astype(np.int64), order, words) - {token}
        possible.append((token, *sorted(others)))
        certificate.append(AMBIGUOUS if others else CERTAIN)
    tokens = drawn.tokens.astype(np.int64)
    return Replay("deepinfer", version, tokens, tuple(certificate), tuple(possible), BOUND, record.kept)


def _others(weights: NDArray[np.int64], order: NDArray[np.int64], words: list[int]) -> set[int]:
    """Tokens of every residue that a total within its error could give: the limit is 1 or 2 totals, or near a word."""
    upper = np.cumsum(weights)
    total = int(upper[-1])
    slack = int(WEIGHT_ERROR * total) + int((weights > 0).sum())
    found: set[int] = set()
    for side in {total, min(total, 2**31 - 1), max(total, 2**31)}:
        if abs(side - total) > slack:
            continue
        limit = rejection_limit(side)
        near = slack * (2**32 // side)
        taken = [word for word in words if word < limit + near]
        for word in taken[: 1 + next((i for i, x in enumerate(taken) if x < limit - near), 0)]:
            turns = word // side
            at, width = word - turns * total, slack * (turns + 1)
            hit = (upper + width >= at) & (upper - weights - width <= at) & (weights > 0)
            found.update(order[np.flatnonzero(hit)].tolist())
    return found


def _sample(name: str, logits: F32, params: Params, facts: dict[str, Any]) -> SampleResult:
    inputs = SamplerInputs(
        logits,
        temperature=params.temperature,
        top_p=params.top_p,
        top_k=np.where(params.top_k == logits.shape[1], -1, params.top_k),
        seq_seed=np.asarray(facts["seed"], np.uint64),
        position=np.asarray(facts["position"], np.int64),
    )
    return sample(name, inputs, backend="reference", numbering=facts["numbering"], min_p=float(params.min_p[0]))

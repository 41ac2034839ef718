"""The tokens that a recorded draw would have been with its random stream moved on by some words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import words_many
from deepinfer.sampling import SampleResult
from deepinfer.sampling.spec import cdf_order, rejection_limit

WORDS = 16
"""Words looked at; a draw that rejects them all (2^-16 at worst) keeps its token."""


def redrawn(result: SampleResult, rows: NDArray[np.int64], by: int) -> NDArray[np.int32]:
    """The tokens of `rows`, of the same weights on streams that start `by` words later; without a draw, its own."""
    record = result.record
    assert record.weights is not None
    tokens = result.tokens[rows]
    drew = np.flatnonzero(record.word_count[rows] > 0)
    at = rows[drew]
    words = words_many(record.seeds[at], record.subsequences[at], np.full(len(at), by, np.uint64), WORDS)
    order = cdf_order(record.weights.shape[1])
    in_columns = bool((order[1:] > order[:-1]).all())
    rule = "exact" if record.sampler == "exact_sample" else record.draw
    for place, row, stream in zip(drew.tolist(), at.tolist(), words.tolist(), strict=True):
        weights = record.weights[row] if in_columns else record.weights[row][order]
        edges = np.cumsum(weights, dtype=np.uint64)
        residue = _residue(rule, stream, int(edges[-1]))
        if residue is not None:
            column = np.searchsorted(edges, np.uint64(residue), side="right")
            tokens[place] = column if in_columns else order[column]
    return tokens


def _residue(rule: str, words: list[Any], total: int) -> int | None:
    """Where in 0 .. total - 1 the draw points, by docs/spec/sampling.md, A.8 and D.4; None where there is no answer."""
    if total == 0:
        return None
    if rule == "exact":
        return int((words[0] | words[1] << 32) * total >> 64)
    if rule == "multiply_shift":
        return int(words[0] * total >> 32)
    limit = rejection_limit(total)
    return next((int(word % total) for word in words if word < limit), None)

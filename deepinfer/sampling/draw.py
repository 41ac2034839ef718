"""The integer sampler alone: probabilities in, tokens out (docs/spec/sampling.md, A.6 to A.9)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepinfer.errors import InputError, unknown_name
from deepinfer.rng.spec import ACCEPT, request_subsequences
from deepinfer.sampling import checks
from deepinfer.sampling import reference as ref
from deepinfer.sampling.spec import DRAWS, ONE

DRAW_BACKENDS = {"reference": "deepinfer.sampling.draw", "native": "deepinfer.sampling.two_level.native_impl"}
"""Backend name -> module with `draw_rows(probs, seeds, subsequences, rule) -> tokens int32[Q]`."""


def draw_tokens(
    probs: NDArray[np.float32],
    seq_seed: ArrayLike,
    position: ArrayLike,
    purpose: int = 0,
    *,
    backend: str,
    draw: str = "modulo_reject",
    numbering: str = "absolute",
) -> NDArray[np.int32]:
    """Draw one column of each row of `probs` float32[Q, V] by the weights floor(p * 2^31), in lane order: int32[Q].

    `purpose` is 0 (fresh) or 1 (residual). Rows need not sum to one, but their weights must sum to 1 .. 2^32 - 1.
    Raises InputError for a row with a NaN, a negative or an infinite entry, or with a sum out of range.
    """
    if backend not in DRAW_BACKENDS:
        raise unknown_name("backend of draw_tokens", backend, list(DRAW_BACKENDS))
    if draw not in DRAWS:
        raise unknown_name("draw rule", draw, DRAWS)
    if purpose not in range(ACCEPT):
        raise InputError(f"purpose is {purpose!r}: give 0 (fresh) or 1 (residual)")
    _check(probs)
    rows = len(probs)
    subsequences = request_subsequences(
        checks.integers("position", checks.column("position", position, rows)), purpose, numbering
    )
    tokens: NDArray[np.int32] = import_module(DRAW_BACKENDS[backend]).draw_rows(
        np.ascontiguousarray(probs), checks.seeds(checks.column("seq_seed", seq_seed, rows)), subsequences, draw
    )
    return tokens


def draw_rows(
    probs: NDArray[np.float32], seeds: NDArray[np.uint64], subsequences: NDArray[np.uint64], rule: str
) -> NDArray[np.int32]:
    """The twin: one checked row at a time."""
    tokens = np.empty(len(probs), np.int32)
    for row, probability in enumerate(probs):
        drawn = ref.draw(ref.weights_of(probability), seeds[row], subsequences[row], rule)
        assert drawn is not None
        tokens[row] = drawn.token
    return tokens


def _check(probs: Any) -> None:
    if not isinstance(probs, np.ndarray) or probs.dtype != np.float32 or probs.ndim != 2 or probs.shape[1] < 1:
        got = f"{getattr(probs, 'dtype', type(probs).__name__)} {np.shape(probs)}"
        raise InputError(f"probs are {got}: give float32 [rows, columns] with at least one column")
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.floor(probs.astype(np.float64) * ONE)
        total = scaled.sum(axis=1)
        bad = ~((scaled >= 0).all(axis=1) & (total >= 1) & (total < 2**32))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"probs of row {row} have weights that sum to {total[row]:.0f}: "
            "give entries >= 0, no NaN, whose weights floor(p * 2^31) sum to 1 .. 2^32 - 1"
        )

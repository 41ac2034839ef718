"""What a replay must hold to against a recording."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repro.streams.samplers import AMBIGUOUS, EXACT, Replay

GPU = {"sm_count": 132, "threads_per_sm": 2048}
A: dict[str, float] = {}
B: dict[str, float] = {"temperature": 0.8, "top_k": 50, "top_p": 0.9}


def check(made: Replay, recorded: NDArray[np.generic], ambiguous: float = 0.01, exact: bool = False) -> None:
    """Every recorded token is the replayed one, or possible where the certificate says ambiguous; ambiguous ones stay
    below the given share; certificates of integer and float64 engines are exact."""
    tokens = np.asarray(recorded).tolist()
    for row, (token, mine) in enumerate(zip(tokens, made.tokens.tolist(), strict=True)):
        assert token in made.possible[row], row
        if made.certificate[row] != AMBIGUOUS:
            assert token == mine, row
            assert made.possible[row] == (mine,)
    assert made.certificate.count(AMBIGUOUS) <= ambiguous * len(tokens)
    if exact:
        assert set(made.certificate) == {EXACT}

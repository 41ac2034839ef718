"""The argmax race: the column whose score, log-probability plus noise, is the largest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repro.streams.samplers.cut import Cut
from repro.streams.samplers.result import AMBIGUOUS, CERTAIN, EXACT, Replay

F64 = NDArray[np.float64]
HALF_ULP = 2.0**-24
"""Relative error of one float32 rounding."""


def race(engine: str, version: str, score: F64, error: F64 | float, cut: Cut, bound: str, last: bool = False) -> Replay:
    """Decide each row. `score` float64[Q, V]; the engine's own score of a column lies within `error` (same shape, or a
    number) of it. Of equal scores the first column wins, or the last.

    A column can win when its score could reach the best of those that surely survive; columns whose survival is
    doubtful can win but need not be there. NaN scores win, as they do in torch's argmax.
    """
    with np.errstate(invalid="ignore"):
        alive, sure = cut.kept | cut.doubtful, cut.kept & ~cut.doubtful
        here = np.where(cut.kept, score, -np.inf)
        floor = np.where(sure, score - error, -np.inf).max(axis=1, keepdims=True)
        can_win = alive & ~(score + error < floor)
    tokens = here.shape[1] - 1 - here[:, ::-1].argmax(axis=1) if last else here.argmax(axis=1)
    no_float = not np.any(error) and not cut.doubtful.any()
    possible, certificate = [], []
    for row, token in enumerate(tokens.tolist()):
        others = [column for column in np.flatnonzero(can_win[row]).tolist() if column != token]
        if no_float:
            others = []
        possible.append((token, *others))
        certificate.append(AMBIGUOUS if others else EXACT if no_float else CERTAIN)
    return Replay(engine, version, tokens, tuple(certificate), tuple(possible), bound, cut.kept, cut.doubtful)

"""What a replay returns: tokens, and how sure each of them is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EXACT, CERTAIN, AMBIGUOUS = "exact", "certain", "ambiguous"


@dataclass(frozen=True)
class Replay:
    """One entry a row. `tokens` int64[Q] is the most likely token.

    `certificate` says what holds for the engine's own token. exact: only integers or exactly specified arithmetic went
    into it. certain: floats did, and no other token is possible while every one of them is within `bound` of the value
    taken here. ambiguous: the token is one of `possible`. `kept` bool[Q, V] marks the columns that survive the
    filters, `doubtful` those whose survival a float within `bound` decides (None: no filter, or none).
    """

    engine: str
    version: str
    tokens: NDArray[np.int64]
    certificate: tuple[str, ...]
    possible: tuple[tuple[int, ...], ...]
    bound: str
    kept: NDArray[np.bool_] | None = None
    doubtful: NDArray[np.bool_] | None = None

    def agrees(self, tokens: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each given token is possible, bool[Q]."""
        given = np.asarray(tokens).tolist()
        return np.asarray([token in allowed for token, allowed in zip(given, self.possible, strict=True)], bool)

"""Steps A.7 and A.8 of docs/spec/sampling.md: words, draw index, residue, column. All exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import words_many
from deepinfer.sampling.spec import cdf_order, rejection_limit

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
EXACT = "exact"
"""The draw of `exact_sample`, beside the rules of `sample`: 64 bits, no limit."""
SHOWN_WORDS = 64
"""Words taken of each stream; `modulo_reject` needs more with a probability below 2^-64."""


def first_words(seeds: U64, subsequences: U64, count: int = SHOWN_WORDS) -> U64:
    """The first words of each stream, uint64[Q, count]."""
    return words_many(seeds, subsequences, np.zeros(len(seeds), np.uint64), count).astype(np.uint64)


def walk_order(columns: int) -> I64 | None:
    """The column at each place of the CDF, int64[V]; None where places are columns."""
    order = cdf_order(columns)
    return None if bool((order[1:] > order[:-1]).all()) else order


def edges_of(weights: NDArray[Any], order: I64 | None) -> U64:
    """The cumulative weights of one row, in CDF order."""
    return np.cumsum(weights if order is None else weights[order], dtype=np.uint64)


def limit_of(rule: str, total: int) -> int:
    """Words at or above this are rejected; 2^32: none is."""
    return rejection_limit(total) if rule == "modulo_reject" and total else 2**32


def index_below(words: Sequence[int], limit: int) -> int:
    """The place of the first word that is accepted under `limit`, -1 where none of them is."""
    return next((index for index, word in enumerate(words) if word < limit), -1)


def residue_of(rule: str, words: Sequence[int], index: int, total: int) -> int:
    """Where in 0 .. total - 1 the draw at word `index` points."""
    word = words[index]
    if rule == EXACT:
        return (word | words[index + 1] << 32) * total >> 64
    return word * total >> 32 if rule == "multiply_shift" else word % total


def place_of(edges: U64, residue: int) -> int:
    """The CDF place whose interval holds `residue`."""
    return int(edges.searchsorted(np.uint64(residue), side="right"))

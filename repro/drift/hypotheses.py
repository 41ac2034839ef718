"""The changes of a random stream that are tried on all rows together, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepinfer.rng.spec import BLOCK_ROW_STRIDE, DRAFT_SEED_OFFSET
from repro.drift.draws import I64, U64

LOW31, LOW32, SHIFT32, THREE = (np.uint64(value) for value in (2**31 - 1, 2**32 - 1, 32, 3))


@dataclass(frozen=True)
class Keys:
    """The rows' streams as they should be, uint64[Q]; `none` is zeros, `rows` counts the batch rows."""

    seeds: U64
    subsequences: U64
    none: U64
    rows: U64

    @property
    def positions(self) -> U64:
        return np.asarray(self.subsequences // THREE)


Stream = tuple[U64, U64, U64]
"""(seeds, subsequences, first words)."""


def same_words(index: I64) -> I64:
    """The word taken for the i-th: the i-th."""
    return index


@dataclass(frozen=True)
class Hypothesis:
    """A change of the stream, and which of its words is taken for the i-th."""

    name: str
    change: Callable[[Keys], Stream]
    lane: Callable[[I64], I64] = same_words


def shifted(seed: int = 0, subsequence: int = 0, word: int = 0) -> Callable[[Keys], Stream]:
    """Everything moved by constants, modulo 2^64."""
    by = [np.uint64(value % 2**64) for value in (seed, subsequence, word)]
    return lambda keys: (keys.seeds + by[0], keys.subsequences + by[1], keys.none + by[2])


def hypotheses(renumbered: U64 | None = None) -> tuple[Hypothesis, ...]:
    """Every change that is tried; `renumbered` are the subsequences of the other numbering, where it is another."""
    return (*_renumbered(renumbered), *_shifts(), *_identities(), *_orders())


def _renumbered(other: U64 | None) -> list[Hypothesis]:
    if other is None:
        return []
    return [Hypothesis("the other numbering", lambda keys: (keys.seeds, other, keys.none))]


def _shifts() -> list[Hypothesis]:
    found = []
    for by in (-4, -3, -2, -1, 1, 2, 3, 4):
        found.append(Hypothesis(f"position {by:+d}", shifted(subsequence=3 * by)))
        found.append(Hypothesis(f"seed {by:+d}", shifted(seed=by)))
        if by % 3:
            found.append(Hypothesis(f"subsequence {by:+d} (another purpose)", shifted(subsequence=by)))
    for by in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64):
        found.append(Hypothesis(f"word offset +{by}", shifted(word=by)))
    for by in (DRAFT_SEED_OFFSET, -DRAFT_SEED_OFFSET):
        found.append(Hypothesis(f"seed {by:+d} (the draft model's)", shifted(seed=by)))
    for row in range(1, 8):
        by = 3 * row * (BLOCK_ROW_STRIDE - 1)
        found.append(Hypothesis(f"numbered as row {row} of a verify block", shifted(subsequence=by)))
    return found


def _identities() -> list[Hypothesis]:
    return [
        Hypothesis("subsequence = position", lambda keys: (keys.seeds, keys.positions, keys.none)),
        Hypothesis("subsequence = 0", lambda keys: (keys.seeds, keys.none, keys.none)),
        Hypothesis("subsequence = batch row", lambda keys: (keys.seeds, keys.rows, keys.none)),
        Hypothesis("subsequence 0, offset = position", lambda keys: (keys.seeds, keys.none, keys.positions)),
        Hypothesis(
            "subsequence 0, offset = 4 x position", lambda keys: (keys.seeds, keys.none, keys.positions * np.uint64(4))
        ),
        Hypothesis("offset = position", lambda keys: (keys.seeds, keys.subsequences, keys.positions)),
        Hypothesis("offset = batch row", lambda keys: (keys.seeds, keys.subsequences, keys.rows)),
        Hypothesis("seed + batch row", lambda keys: (keys.seeds + keys.rows, keys.subsequences, keys.none)),
        Hypothesis("seed of the next row", lambda keys: (np.roll(keys.seeds, -1), keys.subsequences, keys.none)),
        Hypothesis("stream of the next row", lambda keys: _neighbour(keys, -1)),
        Hypothesis("stream of the row before", lambda keys: _neighbour(keys, 1)),
        Hypothesis("seed of row 0", lambda keys: (keys.none + keys.seeds[0], keys.subsequences, keys.none)),
        Hypothesis("seed = 0", lambda keys: (keys.none, keys.subsequences, keys.none)),
        Hypothesis("seed and subsequence swapped", lambda keys: (keys.subsequences, keys.seeds, keys.none)),
        Hypothesis("seed cut to 32 bits", lambda keys: (keys.seeds & LOW32, keys.subsequences, keys.none)),
        Hypothesis("seed cut to 31 bits", lambda keys: (keys.seeds & LOW31, keys.subsequences, keys.none)),
        Hypothesis("seed halves swapped", _halves_swapped),
    ]


def _neighbour(keys: Keys, by: int) -> Stream:
    return np.roll(keys.seeds, by), np.roll(keys.subsequences, by), keys.none


def _halves_swapped(keys: Keys) -> Stream:
    return keys.seeds >> SHIFT32 | (keys.seeds & LOW32) << SHIFT32, keys.subsequences, keys.none


def _orders() -> list[Hypothesis]:
    return [
        Hypothesis("words of a block in reverse", shifted(), lambda index: index ^ 3),
        Hypothesis("words of a block swapped in pairs", shifted(), lambda index: index ^ 1),
        Hypothesis("the first word of each block", shifted(), lambda index: 4 * index),
        Hypothesis("the last word of each block", shifted(), lambda index: 4 * index + 3),
    ]

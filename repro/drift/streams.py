"""The stream hypothesis: one change of key, subsequence, offset or word order that explains many rows at once.

It is global. A row alone says nothing (some stream gives any token); rows together do, or do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import words_many
from deepinfer.rng.spec import BLOCK_ROW_STRIDE, DRAFT_SEED_OFFSET
from repro.drift.draws import EXACT, I64, SHOWN_WORDS, U64
from repro.drift.state import Facts

Stream = tuple[U64, U64, U64]
"""(seeds, subsequences, first words), one entry a row."""
LOW32, SHIFT32 = np.uint64(0xFFFFFFFF), np.uint64(32)
SEARCHED_WORDS = 8
"""Words looked at while searching; a draw that rejects them all (2^-8 at worst) counts as not restored."""
CHANCE = 1e-6
LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Hypothesis:
    """A change of the stream: from (seeds, subsequences, zeros, rows) to the stream taken, and the word taken for the
    i-th (`lane`)."""

    name: str
    change: Callable[[U64, U64, U64, U64], Stream]
    lane: Callable[[I64], I64] = lambda index: index


@dataclass(frozen=True)
class Table:
    """The hypotheses tried, and the token of each row under each, int64[Q, H]; -1 where the row drew nothing or the
    words looked at are all rejected."""

    tried: tuple[Hypothesis, ...]
    tokens: I64


@dataclass(frozen=True)
class Found:
    """The accepted hypothesis: how many of the rows it was judged on it restores, the chance of that many for tokens
    drawn independently, times the hypotheses tried, and whether it also keeps most of the rows that agreed."""

    hypothesis: Hypothesis
    restored: int
    judged: int
    chance: float
    keeps_agreement: bool


def hypotheses(renumbered: U64 | None = None) -> tuple[Hypothesis, ...]:
    """Every change that is tried; `renumbered` are the subsequences of the other numbering, where it is another."""
    other = [] if renumbered is None else [Hypothesis("the other numbering", lambda seed, sub, first, row: (seed, renumbered, first))]
    return (*other, *_shifts(), *_identities(), *_orders())


def _shifts() -> list[Hypothesis]:
    found = []
    for by in (-4, -3, -2, -1, 1, 2, 3, 4):
        step = np.uint64(by % 2**64)
        third = np.uint64(3 * by % 2**64)
        found += [
            Hypothesis(f"position {by:+d}", lambda seed, sub, first, row, k=third: (seed, sub + k, first)),
            Hypothesis(f"subsequence {by:+d}", lambda seed, sub, first, row, k=step: (seed, sub + k, first)),
            Hypothesis(f"seed {by:+d}", lambda seed, sub, first, row, k=step: (seed + k, sub, first)),
        ]
    for by in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64):
        step = np.uint64(by)
        found.append(Hypothesis(f"word offset +{by}", lambda seed, sub, first, row, k=step: (seed, sub, first + k)))
    for by in (DRAFT_SEED_OFFSET, -DRAFT_SEED_OFFSET):
        step = np.uint64(by % 2**64)
        name = f"seed offset {by:+d} (the draft model's)"
        found.append(Hypothesis(name, lambda seed, sub, first, row, k=step: (seed + k, sub, first)))
    for rows in (1, 2, 3, 4, 5, 6, 7):
        step = np.uint64(3 * rows * (BLOCK_ROW_STRIDE - 1))
        name = f"numbering of verify blocks, row {rows}"
        found.append(Hypothesis(name, lambda seed, sub, first, row, k=step: (seed, sub + k, first)))
    return found


def _identities() -> list[Hypothesis]:
    three = np.uint64(3)
    return [
        Hypothesis("subsequence = position", lambda seed, sub, first, row: (seed, sub // three, first)),
        Hypothesis("subsequence = 0", lambda seed, sub, first, row: (seed, first, first)),
        Hypothesis("subsequence = batch row", lambda seed, sub, first, row: (seed, row, first)),
        Hypothesis("subsequence 0, offset = position", lambda seed, sub, first, row: (seed, first, sub // three)),
        Hypothesis("subsequence 0, offset = 4 x position", lambda seed, sub, first, row: (seed, first, sub // three * 4)),
        Hypothesis("offset = position", lambda seed, sub, first, row: (seed, sub, sub // three)),
        Hypothesis("offset = batch row", lambda seed, sub, first, row: (seed, sub, row)),
        Hypothesis("seed + batch row", lambda seed, sub, first, row: (seed + row, sub, first)),
        Hypothesis("seed of the next row", lambda seed, sub, first, row: (np.roll(seed, -1), sub, first)),
        Hypothesis("stream of the next row", lambda seed, sub, first, row: (np.roll(seed, -1), np.roll(sub, -1), first)),
        Hypothesis("stream of the row before", lambda seed, sub, first, row: (np.roll(seed, 1), np.roll(sub, 1), first)),
        Hypothesis("seed of row 0", lambda seed, sub, first, row: (np.full_like(seed, seed[0]), sub, first)),
        Hypothesis("seed = 0", lambda seed, sub, first, row: (first, sub, first)),
        Hypothesis("seed and subsequence swapped", lambda seed, sub, first, row: (sub, seed, first)),
        Hypothesis("seed cut to its low 32 bits", lambda seed, sub, first, row: (seed & LOW32, sub, first)),
        Hypothesis("seed cut to 31 bits", lambda seed, sub, first, row: (seed & (LOW32 >> np.uint64(1)), sub, first)),
        Hypothesis(
            "seed halves swapped", lambda seed, sub, first, row: (seed >> SHIFT32 | (seed & LOW32) << SHIFT32, sub, first)
        ),
    ]


def _orders() -> list[Hypothesis]:
    return [
        Hypothesis("words of a block in reverse", lambda seed, sub, first, row: (seed, sub, first), lambda i: i ^ 3),
        Hypothesis("words of a block swapped in pairs", lambda seed, sub, first, row: (seed, sub, first), lambda i: i ^ 1),
        Hypothesis("first word of each block", lambda seed, sub, first, row: (seed, sub, first), lambda i: 4 * i),
        Hypothesis("last word of each block", lambda seed, sub, first, row: (seed, sub, first), lambda i: 4 * i + 3),
    ]


def stream_words(facts: Facts, hypothesis: Hypothesis, count: int = SHOWN_WORDS) -> U64:
    """The words that every row would draw under a hypothesis, uint64[Q, count]."""
    seeds, subsequences = facts.model.seeds, facts.model.subsequences
    zeros, rows = np.zeros_like(seeds), np.arange(len(seeds), dtype=np.uint64)
    with np.errstate(over="ignore"):
        stream = hypothesis.change(seeds, subsequences, zeros, rows)
    lanes = hypothesis.lane(np.arange(count))
    return words_many(*stream, int(lanes.max()) + 1).astype(np.uint64)[:, lanes]


def table_of(facts: Facts) -> Table:
    """Every row's token under every hypothesis."""
    tried = hypotheses(facts.model.renumbered)
    rows = np.flatnonzero(facts.model.drew)
    words = np.stack([stream_words(facts, one, SEARCHED_WORDS)[rows] for one in tried], axis=1)
    tokens = np.full((len(facts.total), len(tried)), -1, np.int64)
    for at, row in enumerate(rows.tolist()):
        state = facts.own[row]
        if state is None:
            continue
        residues, known = _residues(facts.model.draw, words[at], state.total, state.limit)
        places = np.searchsorted(state.edges, residues, side="right")
        columns = places if facts.order is None else facts.order[np.minimum(places, len(facts.order) - 1)]
        tokens[row] = np.where(known, columns, -1)
    return Table(tried, tokens)


def _residues(draw: str, words: U64, total: int, limit: int) -> tuple[U64, NDArray[np.bool_]]:
    """Residues of many streams of one row, uint64[H] from uint64[H, n], and whether a word was accepted."""
    if draw == EXACT:
        pairs = [(int(a) | int(b) << 32) * total >> 64 for a, b in words[:, :2]]
        return np.asarray(pairs, np.uint64), np.ones(len(words), np.bool_)
    if draw == "multiply_shift":
        return words[:, 0] * np.uint64(total) >> SHIFT32, np.ones(len(words), np.bool_)
    accepted = words < np.uint64(limit)
    taken = np.take_along_axis(words, accepted.argmax(axis=1)[:, None], axis=1)[:, 0]
    return taken % np.uint64(total), accepted.any(axis=1)


def search(facts: Facts, table: Table, tokens: I64, judged: I64, agreeing: I64) -> Found | None:
    """The hypothesis that restores most of the rows `judged`, if that many cannot be chance.

    `tokens` int64[Q] are the side's. Accepted where at least half of `judged` are restored and the probability of as
    many matches, with each row's token under a wrong stream an independent draw from its own weights, times the number
    of hypotheses, is at most CHANCE.
    """
    if len(judged) < 2:
        return None
    counts = (table.tokens[judged] == tokens[judged][:, None]).sum(axis=0)
    best = int(counts.argmax())
    if counts[best] < LEAST_SHARE * len(judged):
        return None
    share = facts.model.weights[judged, np.maximum(tokens[judged], 0)] / np.maximum(facts.total[judged], 1)
    chance = min(1.0, len(table.tried) * tail_probability(np.asarray(share, np.float64), int(counts[best])))
    if chance > CHANCE:
        return None
    kept = table.tokens[agreeing, best] == tokens[agreeing]
    keeps = bool(kept.mean() >= LEAST_SHARE) if len(agreeing) else True
    return Found(table.tried[best], int(counts[best]), len(judged), chance, keeps)


def tail_probability(share: NDArray[np.float64], count: int) -> float:
    """P(at least `count` successes) of independent trials with probabilities `share`, exact."""
    distribution = np.ones(1)
    for p in share.tolist():
        distribution = np.append(distribution * (1 - p), 0.0) + np.append(0.0, distribution * p)
    return float(distribution[count:].sum())

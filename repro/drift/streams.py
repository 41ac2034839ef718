"""The stream hypothesis: one change of key, subsequence, offset or word order that explains many rows at once.

It is global. A row alone says nothing (some stream gives any token); rows together do, or do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import words_many
from repro.drift.draws import EXACT, I64, SHOWN_WORDS, U64
from repro.drift.hypotheses import SHIFT32, Hypothesis, Keys, hypotheses
from repro.drift.state import Facts

SEARCHED_WORDS = 8
"""Words looked at while searching; a draw that rejects them all (2^-8 at worst) counts as not restored."""
CHANCE = 1e-6
LEAST_SHARE = 0.8
LEAST_ROWS = 2
"""Fewer rows than this can prove nothing."""


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


def stream_words(facts: Facts, hypothesis: Hypothesis, count: int = SHOWN_WORDS) -> U64:
    """The words that every row would draw under a hypothesis, uint64[Q, count]."""
    seeds, subsequences = facts.model.seeds, facts.model.subsequences
    keys = Keys(seeds, subsequences, np.zeros_like(seeds), np.arange(len(seeds), dtype=np.uint64))
    with np.errstate(over="ignore"):
        stream = hypothesis.change(keys)
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
        residues, known = _residues(facts.rule, words[at], state.total, state.limit)
        places = np.searchsorted(state.edges, residues, side="right")
        columns = places if facts.order is None else facts.order[np.minimum(places, len(facts.order) - 1)]
        tokens[row] = np.where(known, columns, -1)
    return Table(tried, tokens)


def _residues(rule: str, words: U64, total: int, limit: int) -> tuple[U64, NDArray[np.bool_]]:
    """Residues of many streams of one row, uint64[H] from uint64[H, n], and whether a word was accepted."""
    if rule == EXACT:
        pairs = [(int(a) | int(b) << 32) * total >> 64 for a, b in words[:, :2]]
        return np.asarray(pairs, np.uint64), np.ones(len(words), np.bool_)
    if rule == "multiply_shift":
        return words[:, 0] * np.uint64(total) >> SHIFT32, np.ones(len(words), np.bool_)
    accepted = words < np.uint64(limit)
    taken = np.take_along_axis(words, accepted.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.asarray(taken % np.uint64(total)), np.asarray(accepted.any(axis=1))


def search(facts: Facts, table: Table, tokens: I64, judged: I64, agreeing: I64) -> Found | None:
    """The hypothesis that restores most of the rows `judged`, if that many cannot be chance.

    `tokens` int64[Q] are the side's. Accepted where LEAST_SHARE of `judged` are restored (the others may have causes of
    their own) and the probability of as many matches, with each row's token under a wrong stream an independent draw
    from its own weights, times the number of hypotheses, is at most CHANCE.
    """
    if len(judged) < LEAST_ROWS:
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

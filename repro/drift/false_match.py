"""How often the probes explain what they should not: the side's tokens replaced by independent draws.

Every replicate draws one token for each row from the model's own weights, with words that no request uses. Among the
rows whose token then differs from the model's, the share that some probe restores is the false-match rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import words_many
from repro.drift.draws import EXACT, I64
from repro.drift.probes import PAIRS, PROBES, RNG_STREAM
from repro.drift.state import Facts, RowState
from repro.drift.streams import CHANCE, Table, search

REPLICATES = 8
SEED = 0x0DEC0DE5EED0FF5E
"""Key of the independent words; a request would have to use this very seed to share them."""


def false_match_rate(
    facts: Facts, reaches: Sequence[Mapping[int, str]], table: Table | None, replicates: int = REPLICATES
) -> dict[str, float]:
    """The share of falsely explained rows by probe, for pairs of probes, for the stream hypothesis, and in total.

    `reaches` holds attribute.reach_of of every row. A token that several probes reach counts for the one that would be
    named. The stream hypothesis is measured where its `table` was needed; else its own bound, CHANCE, is given. Zero
    where no replicate differs.
    """
    tokens = np.repeat(facts.model.tokens[:, None], replicates, axis=1)
    bits = _independent_bits(len(facts.total), replicates)
    counts: Counter[str] = Counter()
    matched = np.zeros(tokens.shape, np.bool_)
    differing = np.zeros(tokens.shape, np.bool_)
    for row, state in enumerate(facts.own):
        if state is None:
            continue
        tokens[row] = _independent_tokens(facts, state, bits[row])
        differing[row] = tokens[row] != state.token
        causes = [reaches[row].get(token, "") for token in tokens[row].tolist()]
        matched[row] = [cause != "" for cause in causes]
        counts.update(PAIRS if "+" in cause else cause for cause in causes if cause)
    total = int(differing.sum())
    if table is not None:
        counts[RNG_STREAM] = sum(
            _falsely_streamed(facts, table, tokens[:, at], differing[:, at], matched[:, at]) for at in range(replicates)
        )
    named = [*(probe.cause for probe in PROBES), PAIRS, RNG_STREAM]
    rates = {cause: counts[cause] / max(total, 1) for cause in named}
    if table is None and total:
        rates[RNG_STREAM] = CHANCE
    return {**rates, "total": sum(rates.values())}


def _independent_tokens(facts: Facts, state: RowState, bits: NDArray[np.uint64]) -> I64:
    """Tokens drawn from the row's own weights, int64[n]; a float sampler's total is below 2^32."""
    if facts.rule == EXACT:
        residues = np.asarray([int(one) * state.total >> 64 for one in bits], np.uint64)
    else:
        residues = (bits >> np.uint64(32)) * np.uint64(state.total) >> np.uint64(32)
    places = np.searchsorted(state.edges, residues, side="right")
    return np.asarray(places if facts.order is None else facts.order[places], np.int64)


def _falsely_streamed(
    facts: Facts, table: Table, tokens: I64, differing: NDArray[np.bool_], matched: NDArray[np.bool_]
) -> int:
    """Rows of one replicate that a stream hypothesis would take."""
    found = search(facts, table, tokens, np.flatnonzero(differing & ~matched), np.flatnonzero(~differing))
    return 0 if found is None else found.restored


def _independent_bits(rows: int, replicates: int) -> NDArray[np.uint64]:
    """64 random bits for each row and replicate, uint64[rows, replicates]."""
    seeds = np.full(rows, SEED, np.uint64)
    words = words_many(seeds, np.arange(rows, dtype=np.uint64), np.zeros(rows, np.uint64), 2 * replicates)
    wide = words.astype(np.uint64)
    return np.asarray(wide[:, ::2] | wide[:, 1::2] << np.uint64(32))

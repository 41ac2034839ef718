"""The search: the claim itself, every change alone, every pair of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from repro.streams.diagnose.claim import Claim
from repro.streams.diagnose.hypothesis import Hypothesis
from repro.streams.diagnose.table import HYPOTHESES
from repro.streams.samplers import cut as cuts
from repro.streams.samplers import sampler

F64 = NDArray[np.float64]
Change = tuple[tuple[str, ...], Claim]
SCREEN = 6
"""Rows that a pair must explain before all are tried: those whose tokens are the least probable."""
FALSE_MATCH = 1e-6
"""Above this a finding is called a possibility, not the cause."""


@dataclass(frozen=True)
class Finding:
    """Changes that give the same tokens. `explained` of `rows` tokens are possible under it; `decisive` is the number
    of rows on which it differs from the claim. `false_match` bounds the probability that one of all the wrong changes
    tried would explain as many: the product of the tokens' probabilities on the decisive rows, times the changes tried.
    """

    changes: tuple[str, ...]
    explained: int
    rows: int
    decisive: int
    false_match: float

    @property
    def whole(self) -> bool:
        return self.explained == self.rows

    @property
    def settled(self) -> bool:
        """Explains every row, and not by chance."""
        return self.whole and self.false_match < FALSE_MATCH


@dataclass(frozen=True)
class Diagnosis:
    """`claim` is the claim's own finding. `singles` and `pairs` are the findings that explain more rows than the claim,
    best first; pairs are looked for only where no single change explains every row."""

    claim: Finding
    singles: tuple[Finding, ...]
    pairs: tuple[Finding, ...]
    tried: int

    @property
    def causes(self) -> tuple[Finding, ...]:
        """What explains all rows beyond chance; nothing if the claim does."""
        if self.claim.whole:
            return ()
        return tuple(finding for finding in (*self.singles, *self.pairs) if finding.settled)


def diagnose(
    claim: Claim, tokens: Sequence[int], hypotheses: tuple[Hypothesis, ...] = HYPOTHESES, pairs: bool = True
) -> Diagnosis:
    """Try the claim, each change of it and, if none explains every row, pairs. Raises InputError for tokens of another
    number than the rows or outside the vocabulary, and for a claim that cannot be replayed."""
    given = check_tokens(claim, tokens)
    agreed, base = claim.explains(given)
    chance = token_probabilities(claim, given)
    own = Finding(("as claimed",), sum(agreed), len(given), 0, 1.0)
    if own.whole:
        return Diagnosis(own, (), (), 1)
    alone: list[Change] = [((words,), changed) for h in hypotheses for words, changed in _variants(h, claim)]
    tried = 1 + len(alone)
    found = _findings(alone, given, base, chance, tried, sum(agreed))
    if any(finding.whole for finding in found) or not pairs:
        return Diagnosis(own, found, (), tried)
    index = np.argsort(chance, kind="stable")[:SCREEN].tolist()
    screened: list[Change] = []
    for change in _pairs(hypotheses, claim):
        tried += 1
        if _explains_part(change[1], given, index):
            screened.append(change)
    return Diagnosis(own, found, _findings(screened, given, base, chance, tried, sum(agreed)), tried)


def check_tokens(claim: Claim, tokens: Sequence[int]) -> list[int]:
    given = [int(token) for token in np.asarray(tokens).tolist()]
    rows, columns = claim.rows.shape
    if len(given) != rows:
        raise InputError(f"{len(given)} tokens for {rows} rows: give one a row")
    for row, token in enumerate(given):
        if not 0 <= token < columns:
            raise InputError(f"token of row {row} is {token}: the rows have {columns} columns, give 0 to {columns - 1}")
    return given


def token_probabilities(claim: Claim, tokens: list[int]) -> F64:
    """The probability of each token without filters, or its share among the columns that the claim keeps."""
    rows = claim.rows
    if sampler(claim.engine).rows == "logits":
        heat = claim.values("temperature") if "temperature" in claim.parameters else [1.0] * len(rows)
        share = cuts.softmax(rows / np.asarray(heat, np.float32)[:, None])
    else:
        share = rows / rows.sum(axis=1, keepdims=True, dtype=np.float64)
    picked = share[np.arange(len(tokens)), tokens]
    top_k = claim.values("top_k") if "top_k" in claim.parameters else [-1] * len(rows)
    ordered = -np.sort(-share, axis=1)
    mass = [float(ordered[row, : k if k > 0 else None].sum()) for row, k in enumerate(top_k)]
    p = claim.values("top_p") if "top_p" in claim.parameters else [1.0] * len(rows)
    bounded: F64 = np.minimum(1.0, picked / (np.asarray(mass) * np.asarray(p, np.float64)))
    return bounded


def _variants(hypothesis: Hypothesis, claim: Claim) -> Iterator[tuple[str, Claim]]:
    try:
        yield from hypothesis.change(claim)
    except InputError:
        return


def _pairs(hypotheses: tuple[Hypothesis, ...], claim: Claim) -> Iterator[Change]:
    for one, other in combinations([h for h in hypotheses if h.paired], 2):
        for first, changed in _variants(one, claim):
            for second, both in _variants(other, changed):
                yield (first, second), both


def _explains_part(claim: Claim, tokens: list[int], index: list[int]) -> bool:
    """Whether the rows `index` are explained; all rows where they hang together."""
    part = claim.part(index)
    wanted = tokens if part is claim else [tokens[row] for row in index]
    try:
        return all(part.explains(wanted)[0])
    except InputError:
        return False


def _findings(
    changes: list[Change],
    tokens: list[int],
    base: list[int],
    chance: F64,
    tried: int,
    least: int,
) -> tuple[Finding, ...]:
    """Findings that explain more rows than the claim, those with equal tokens as one, best first."""
    groups: dict[tuple[tuple[int, ...], tuple[bool, ...]], list[str]] = {}
    for words, changed in changes:
        try:
            agreed, drawn = changed.explains(tokens)
        except InputError:
            continue
        if sum(agreed) > least:
            groups.setdefault((tuple(drawn), tuple(agreed)), []).append(" and ".join(words))
    found = []
    for (replayed, possible), names in groups.items():
        decisive = [row for row in range(len(tokens)) if replayed[row] != base[row] and possible[row]]
        match = float(np.exp(np.log(np.maximum(chance[decisive], 1e-300)).sum())) * tried if decisive else 1.0
        found.append(Finding(tuple(names), sum(possible), len(tokens), len(decisive), min(1.0, match)))
    return tuple(sorted(found, key=lambda finding: (-finding.explained, finding.false_match)))

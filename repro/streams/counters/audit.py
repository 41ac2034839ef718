"""Every (key, counter) that a run touches, by role, and a proof or a refutation that none is touched twice.

A use is a box: a key, a progression of words, a progression of subsequences (of a hash: positions and tokens). Two uses
share randomness exactly where their keys are equal and both progressions meet, which is decided by arithmetic for the
whole run, not by trying.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from repro.streams.counters.progression import Progression


@dataclass(frozen=True)
class Use:
    """`who` is a request, a slot or a batch; `role` what is drawn; `key` what the generator is keyed by."""

    who: str
    role: str
    key: object
    words: Progression
    subsequences: Progression

    def __str__(self) -> str:
        return f"{self.who}, {self.role}: key {self.key}, words {self.words}, subsequences {self.subsequences}"


@dataclass(frozen=True)
class Reuse:
    """Two uses and the smallest word and subsequence that both touch."""

    one: Use
    other: Use
    word: int
    subsequence: int

    def __str__(self) -> str:
        return (
            f"{self.one.who}, {self.one.role} and {self.other.who}, {self.other.role} "
            f"share key {self.one.key}, word {self.word} of subsequence {self.subsequence}"
        )


def reuses(uses: Iterable[Use]) -> list[Reuse]:
    """Every pair of uses that share a counter; an empty list is a proof that the run has none."""
    by_key: dict[object, list[Use]] = defaultdict(list)
    for use in uses:
        by_key[use.key].append(use)
    found = []
    for group in by_key.values():
        for one, other in combinations(group, 2):
            word, subsequence = one.words.meets(other.words), one.subsequences.meets(other.subsequences)
            if word is not None and subsequence is not None:
                found.append(Reuse(one, other, word, subsequence))
    return found

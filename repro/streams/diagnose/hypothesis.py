"""One assumption that may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from repro.streams.diagnose.claim import Claim

Variants = Iterator[tuple[str, Claim]]


@dataclass(frozen=True)
class Hypothesis:
    """`name` is the assumption; `change` yields what else could be true instead, each with a few words for a report,
    and nothing for a claim to which the assumption does not belong. `paired`: also tried beside another one."""

    name: str
    change: Callable[[Claim], Variants]
    paired: bool = True

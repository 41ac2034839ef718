"""What somebody says about a run: engine, version, parameters and facts; and the tokens it explains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.streams.samplers import sampler

F32 = NDArray[np.float32]
BATCH_ENGINES = ("huggingface_cpu", "huggingface_cuda", "sglang_race", "flashinfer", "flashinfer_logits")
"""Engines whose rows are always the whole batch, so that a row's place in it matters."""


@dataclass(frozen=True)
class Claim:
    """Rows (logits, or probabilities where the engine takes those), and how they are said to have been sampled.

    A parameter or fact is one value, or a list of one a row. `alone` replays each row as a batch of one; `skip` rows
    of the batch stood before the first one given.
    """

    engine: str
    version: str
    rows: F32
    parameters: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False
    skip: int = 0

    def with_facts(self, **changed: Any) -> Claim:
        return replace(self, facts={**self.facts, **changed})

    def with_parameters(self, **changed: Any) -> Claim:
        return replace(self, parameters={**self.parameters, **changed})

    def values(self, name: str) -> list[Any]:
        """A fact or a parameter as one value a row."""
        return _listed(self.facts[name] if name in self.facts else self.parameters[name], len(self.rows))

    @property
    def whole_batch(self) -> bool:
        """Whether a row's noise depends on its place among the rows."""
        by_batch = self.facts.get("generator") == "batch" or self.facts.get("keying") == "batch"
        return (self.engine in BATCH_ENGINES or by_batch) and not self.alone

    def part(self, index: list[int]) -> Claim:
        """The claim about these rows only; all of them where rows hang together."""
        if self.whole_batch:
            return self
        count = len(self.rows)
        return replace(
            self,
            rows=self.rows[index],
            parameters={name: _picked(value, index, count) for name, value in self.parameters.items()},
            facts={name: _picked(value, index, count) for name, value in self.facts.items()},
        )

    def explains(self, tokens: list[int]) -> tuple[list[bool], list[int]]:
        """For each row whether the token is possible, and the token replayed. Raises InputError where the claim cannot
        be: a fact is missing, a filter has no place."""
        if self.alone:
            rows = [replace(self.part([row]), alone=False).explains([token]) for row, token in enumerate(tokens)]
            return [agreed[0] for agreed, _ in rows], [drawn[0] for _, drawn in rows]
        count, skip = len(self.rows), self.skip
        padded = [0] * skip + list(range(count))
        facts = {name: _picked(value, padded, count) for name, value in self.facts.items()}
        parameters = {name: _picked(value, padded, count) for name, value in self.parameters.items()}
        made = sampler(self.engine).replay(self.version, self.rows[padded], facts, **parameters)
        agreed = [token in allowed for token, allowed in zip(tokens, made.possible[skip:], strict=True)]
        return agreed, made.tokens[skip:].tolist()


def _listed(value: Any, count: int) -> list[Any]:
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    return list(plain) if isinstance(plain, (list, tuple)) else [plain] * count


def _picked(value: Any, index: list[int], count: int) -> Any:
    """The values of the rows `index`, if there is one a row."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return value
    listed = _listed(value, count)
    return [listed[row] for row in index]

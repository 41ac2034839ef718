"""What is known of one engine's sampler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repro.streams.entry import Fact, check_facts, check_version
from repro.streams.samplers.params import Params, check_params, check_rows
from repro.streams.samplers.result import Replay

Run = Callable[[str, NDArray[np.float32], Params, dict[str, Any]], Replay]


@dataclass(frozen=True)
class Sampler:
    """One sampler of one engine. `rows` says what it is given: logits or probabilities. `run` is "module:function".

    `certificate` is the best one it can give, `bound` what a certain token rests on. The rest as in a stream's Entry.
    """

    engine: str
    versions: tuple[str, ...]
    run: str
    rows: str
    facts: tuple[Fact, ...]
    noise: str
    rule: str
    filters: str
    certificate: str
    status: str
    evidence: str
    sources: tuple[str, ...]

    def replay(
        self,
        version: str,
        rows: Any,
        facts: Mapping[str, Any],
        *,
        temperature: ArrayLike = 1.0,
        top_k: ArrayLike = -1,
        top_p: ArrayLike = 1.0,
        min_p: ArrayLike = 0.0,
    ) -> Replay:
        """The token of each row and its certificate. Raises InputError for what is missing, unknown or out of range."""
        plain = check_version(self.engine, version, self.versions)
        array = check_rows(rows, self.rows)
        params = check_params(array, self.rows, temperature, top_k, top_p, min_p)
        checked = check_facts(self.engine, self.facts, facts, len(array))
        module, _, name = self.run.partition(":")
        run: Run = getattr(import_module(module), name)
        return run(plain, array, params, checked)

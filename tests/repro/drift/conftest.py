"""Rows whose sides can be planted: by the sampler's own twin, and by nothing of repro.drift."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from deepinfer.sampling import SampleResult, SamplerInputs, sample
from deepinfer.sampling import reference as twin
from deepinfer.sampling.spec import ONE, cdf_order
from harness.case import Case, Floor, Outputs
from harness.rules import agreement
from repro.drift import explain

POSITIONS = 1000
OPTIONS = ("draw", "numbering", "filter_order", "min_p")


@dataclass(frozen=True)
class Stub:
    """A subject that is never asked: tests hand over what it answered."""

    describe: str

    def __call__(self, inputs: Any, outputs: tuple[str, ...]) -> Outputs:
        raise AssertionError("a planted side is not run")


@dataclass(frozen=True)
class Rows:
    """Inputs, and the candidate's answer with its record."""

    inputs: dict[str, Any]
    result: SampleResult

    @property
    def tokens(self) -> Any:
        return self.result.tokens

    def words(self, row: int) -> Iterator[int]:
        record = self.result.record
        return twin.stream(record.seeds[row], record.subsequences[row])

    def weights(self, row: int) -> Any:
        assert self.result.record.weights is not None
        return self.result.record.weights[row]

    def kept(self) -> Any:
        assert self.result.record.kept is not None
        return self.result.record.kept

    def edges(self, row: int) -> Any:
        order = cdf_order(self.kept().shape[1])
        return np.cumsum(self.weights(row)[order].astype(np.uint64)), order

    def flipped(self) -> Any:
        """Every row's token under the limit of the step's other side, with its own weights."""
        return np.asarray([self._flipped(row) for row in range(len(self.tokens))])

    def _flipped(self, row: int) -> int:
        edges, order = self.edges(row)
        total = int(edges[-1])
        limit = total if total < ONE else 2**32
        word = next(word for word in self.words(row) if word < limit)
        return int(order[np.searchsorted(edges, word % total, side="right")])

    def renormalised(self, row: int, kept: Any) -> Any:
        """The row's weights over another kept set."""
        x, lse = self.inputs["logits"][row], self.result.record.lse[row]
        soft = twin.renormalised(x, twin.Softmax(np.float32(1), *lse), kept)
        weights = np.zeros(len(x), np.uint32)
        weights[kept] = twin.weights_of(twin.exp32(soft.logprob(x[kept])))
        return weights

    def draw(self, row: int, weights: Any, seed: int = 0, subsequence: int = 0) -> int:
        """A draw from `weights` on the row's stream, moved by `seed` and `subsequence`."""
        record = self.result.record
        key = (int(record.seeds[row]) + seed) % 2**64, (int(record.subsequences[row]) + subsequence) % 2**64
        drawn = twin.draw(weights, *key, record.draw)
        assert drawn is not None
        return drawn.token

    def told(
        self, tokens: Any, *, evidence: SampleResult | None = None, record: bool = True, **arrays: Any
    ) -> tuple[Any, Any]:
        """explain() of a baseline that answered `tokens` (and `arrays`) against the rows' own answer, which shows its
        record or does not."""
        planted = np.asarray(tokens, np.int32)
        case = Case(
            "planted", lambda: self.inputs, {"tokens": agreement()}, Stub("planted"), Stub("twin"), Floor(0.5, 0.9)
        )
        baseline = Outputs({"tokens": planted, **arrays}, evidence=evidence)
        candidate = Outputs({"tokens": self.tokens}, evidence=self.result if record else None)
        return explain(case, self.inputs, baseline, candidate, planted != self.tokens)

    def recorded(self, **changes: Any) -> SampleResult:
        """The same answer, in memory of its own, with fields of its record changed."""
        return replace(self.result, tokens=self.tokens.copy(), record=replace(self.result.record, **changes))


@pytest.fixture(scope="session")
def make_rows() -> Callable[..., Rows]:
    """make_rows(logits, seed, sampler="two_level", **options): the twin's answer, seeds and positions from `seed`."""

    def make(logits: Any, seed: int, sampler: str = "two_level", **options: Any) -> Rows:
        random = np.random.default_rng(seed)
        inputs = {
            "logits": np.asarray(logits, np.float32),
            "seq_seed": random.integers(0, 2**64, len(logits), dtype=np.uint64),
            "position": random.integers(0, POSITIONS, len(logits)),
            **options,
        }
        given = {name: value for name, value in inputs.items() if name not in OPTIONS}
        rest = {name: value for name, value in inputs.items() if name in OPTIONS}
        return Rows(inputs, sample(sampler, SamplerInputs(**given), backend="reference", **rest))

    return make


@pytest.fixture(scope="session")
def narrow(make_rows: Any) -> Any:
    """200 rows of 256 normal logits, 30 kept."""
    return make_rows(np.random.default_rng(3).normal(size=(200, 256)) * 2, 4, top_k=30)


@pytest.fixture(scope="session")
def flat(make_rows: Any) -> Any:
    """400 rows of 4096 nearly equal logits: intervals so small that a residue often lies beside an edge."""
    return make_rows(np.random.default_rng(5).normal(size=(400, 4096)) / 4, 6)

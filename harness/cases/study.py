"""The study: three changes to the sampler, each with its agreement with the recorded tokens.

They are findings, not gates on a kernel. `divide` renormalises by division instead of through the log domain; `clamp`
keeps the total below 2^31, away from the step of the rejection limit; `multiply_shift` is a draw rule without a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import unknown_name
from deepinfer.rng.reference import words_many
from deepinfer.sampling import Record, SampleResult
from deepinfer.sampling import reference as twin
from deepinfer.sampling.result import MAX_WORDS
from deepinfer.sampling.spec import ONE, cdf_order, rejection_limit
from harness import recorded
from harness.case import Case, Floor, Inputs, Outputs, Subject
from harness.rules import agreement
from harness.subjects import SamplerSubject, recorded_subject

CONFIGS = ("engine", "narrow", "k50p.9")
FLOORS = {
    "divide": {"engine": 0.85, "narrow": 0.85, "k50p.9": 0.75},
    "clamp": {"engine": 0.85, "narrow": 0.8, "k50p.9": 0.75},
    "multiply_shift": {"engine": 0.3, "narrow": 0.55, "k50p.9": 0.35},
}
NOTE = "a finding: the floor documents what was measured, and the residual rate has none"


@dataclass(frozen=True)
class Variant:
    """`fused_sample` on `backend` with one step changed; only its tokens are answered."""

    name: str
    backend: str

    def __post_init__(self) -> None:
        if self.name not in VARIANTS:
            raise unknown_name("variant of the study", self.name, tuple(VARIANTS))

    @property
    def describe(self) -> str:
        return f"{self.name}, a variant of fused_sample on backend {self.backend}"

    @property
    def answers(self) -> tuple[str, ...]:
        return ("tokens",)

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        base = SamplerSubject("fused_sample", self.backend)(inputs, ("tokens",)).evidence
        return Outputs({"tokens": VARIANTS[self.name](inputs, base)})


def divided(inputs: Inputs, base: SampleResult) -> NDArray[np.int32]:
    """Tokens with A.5 replaced by p / (sum of kept p): one float32 division a column, the sum in float64."""
    record = base.record
    assert record.kept is not None
    weights = np.zeros(record.kept.shape, np.uint32)
    for row, x in enumerate(inputs["logits"]):
        kept = record.kept[row]
        soft = twin.Softmax(np.float32(1) / np.float32(inputs["temperature"]), *record.lse[row])
        p = twin.exp32(soft.logprob(x[kept]))
        weights[row, kept] = twin.weights_of((p / twin.sum32(p)).astype(np.float32))
    return _draw(weights, record, 2**32 - 1)


def clamped(inputs: Inputs, base: SampleResult) -> NDArray[np.int32]:
    """Tokens with A.8's total held below 2^31, so that the limit is never once the total."""
    assert base.record.weights is not None
    return _draw(base.record.weights, base.record, ONE - 1)


def _draw(weights: NDArray[np.uint32], record: Record, most: int) -> NDArray[np.int32]:
    """A.7 to A.9 with a total of at most `most`, on the words of the record's streams."""
    order = cdf_order(weights.shape[1])
    cdf = np.cumsum(weights[:, order], axis=1, dtype=np.uint64)
    words = words_many(record.seeds, record.subsequences, np.zeros(len(cdf), np.uint64), MAX_WORDS)
    tokens = np.full(len(cdf), -1, np.int32)
    for row, total in enumerate(np.minimum(cdf[:, -1], most).tolist()):
        word = next(word for word in words[row].tolist() if word < rejection_limit(total))
        tokens[row] = order[np.searchsorted(cdf[row], word % total, side="right")]
    return tokens


VARIANTS: dict[str, Callable[[Inputs, SampleResult], NDArray[np.int32]]] = {"divide": divided, "clamp": clamped}


def cases(backend: str, library: recorded.Library) -> list[Case]:
    """Every variant on the real rows, against the recording."""
    subjects: dict[str, Subject] = {name: Variant(name, backend) for name in VARIANTS}
    subjects["multiply_shift"] = SamplerSubject("fused_sample", backend, draw="multiply_shift")
    return [
        Case(
            name=f"study/{config}/{name}-vs-{recorded.RECORDING}",
            inputs=partial(library.inputs, "real", config),
            rules={"tokens": agreement()},
            baseline=recorded_subject(recorded.RECORDING, "real", config),
            candidate=subject,
            floor=Floor(FLOORS[name][config], residual=0.0),
            notes=(NOTE,),
            finding=NOTE,
            self_rows=8,
        )
        for name, subject in subjects.items()
        for config in CONFIGS
    ]

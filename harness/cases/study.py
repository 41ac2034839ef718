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
from deepinfer.sampling import SampleResult
from deepinfer.sampling import reference as twin
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
    tokens = base.tokens.copy()
    for row, x in enumerate(inputs["logits"]):
        soft = twin.Softmax(np.float32(1) / np.float32(inputs["temperature"]), *record.lse[row])
        p = np.where(record.kept[row], twin.exp32(soft.logprob(x)), np.float32(0))
        weight = twin.weights_of((p / twin.sum32(p)).astype(np.float32))
        drawn = twin.draw(weight, record.seeds[row], record.subsequences[row], record.draw)
        tokens[row] = -1 if drawn is None else drawn.token
    return tokens


def clamped(inputs: Inputs, base: SampleResult) -> NDArray[np.int32]:
    """Tokens with A.8's total held below 2^31, so that the limit is never once the total."""
    record = base.record
    assert record.weights is not None
    order = cdf_order(record.weights.shape[1])
    tokens = base.tokens.copy()
    for row, weight in enumerate(record.weights):
        cdf = np.cumsum(weight[order].astype(np.uint64))
        total = min(int(cdf[-1]), ONE - 1)
        limit = rejection_limit(total)
        word = next(word for word in twin.stream(record.seeds[row], record.subsequences[row]) if word < limit)
        tokens[row] = order[np.searchsorted(cdf, word % total, side="right")]
    return tokens


VARIANTS: dict[str, Callable[[Inputs, SampleResult], NDArray[np.int32]]] = {"divide": divided, "clamp": clamped}


def cases(backend: str) -> list[Case]:
    """Every variant on the real rows, against the recording."""
    subjects: dict[str, Subject] = {name: Variant(name, backend) for name in VARIANTS}
    subjects["multiply_shift"] = SamplerSubject("fused_sample", backend, draw="multiply_shift")
    return [
        Case(
            name=f"study/{config}/{name}-vs-{recorded.RECORDING}",
            inputs=partial(recorded.load_inputs, "real", config),
            rules={"tokens": agreement()},
            baseline=recorded_subject(recorded.RECORDING, "real", config),
            candidate=subject,
            floor=Floor(FLOORS[name][config], residual=0.0),
            notes=(NOTE,),
            self_rows=32,
        )
        for name, subject in subjects.items()
        for config in CONFIGS
    ]

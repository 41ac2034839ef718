"""The four-element case: a name, inputs, a rule for every output, and an agreement floor where outputs are draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

if TYPE_CHECKING:
    from harness.rules import Rule

Array = NDArray[Any]
Inputs = Mapping[str, Any]
"""Arrays (one row per token) and scalars by name. A sampling case has the fields of SamplerInputs and the options of
`sample` (draw, numbering, filter_order, min_p)."""


@dataclass(frozen=True)
class Floor:
    """The least agreement a case accepts: raw, and after accepted attributions (`residual`)."""

    raw: float
    residual: float = 1.0


@dataclass(frozen=True)
class Outputs:
    """What a subject returned: named arrays that rules compare, and evidence that no rule sees (a SampleResult)."""

    arrays: Mapping[str, Array]
    evidence: Any = None


class Subject(Protocol):
    """What stands on one side. `describe` is a stable sentence: what ran, which backend, which order."""

    @property
    def describe(self) -> str: ...

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        """Answer the named outputs for `inputs`, which the subject must not write to."""
        ...


@dataclass(frozen=True)
class Case:
    """`inputs` is called once per run to load or make the arrays, so that listing cases reads no data."""

    name: str
    inputs: Callable[[], Inputs]
    rules: Mapping[str, Rule]
    baseline: Subject
    candidate: Subject
    floor: Floor | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)

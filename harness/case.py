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
    """The least agreement a case accepts: raw, and after accepted attributions (`residual`).

    A floor below 1 must be proven (the exact lower bound reaches it); a floor of 1 says that every row compared agrees.
    """

    raw: float
    residual: float = 1.0


@dataclass(frozen=True)
class Outputs:
    """What a subject returned: named arrays that rules compare, evidence that no rule sees (a SampleResult), and what
    only running tells about what ran (`ran`: the order of its sums)."""

    arrays: Mapping[str, Array]
    evidence: Any = None
    ran: str = ""


class Subject(Protocol):
    """What stands on one side. `describe` is a stable sentence: what ran, which backend, which order."""

    @property
    def describe(self) -> str: ...

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        """Answer the named outputs for `inputs`, which the subject must not write to."""
        ...


@dataclass(frozen=True)
class Case:
    """`inputs` is called once per run to load or make the arrays, so that listing cases reads no data.

    `self_rows` limits the run of each side against itself to that many first rows (None: the whole case), for sides
    that are slow; every input array whose first dimension is the row count is cut. `rules` go by output name or shell
    pattern. `reference` answers outputs in float64, from which both sides' distances are told; no verdict rests on it.
    A case that documents a `finding` says so in a sentence: a canary that its rules cannot see is then a note.
    `grow`, where a case has it, makes inputs of as many blocks as it is asked for: the rows of `inputs` first, then as
    many fresh ones a block.
    """

    name: str
    inputs: Callable[[], Inputs]
    rules: Mapping[str, Rule]
    baseline: Subject
    candidate: Subject
    floor: Floor | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)
    self_rows: int | None = None
    reference: Subject | None = None
    finding: str = ""
    grow: Callable[[int], Inputs] | None = None

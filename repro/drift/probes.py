"""The row probes as data: their order is the order in which a cause is named; two may be combined, not three."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from repro.drift import cdf_boundary, rejection_limit, threshold_crossing, tie_breaking
from repro.drift.state import Facts, RowState


@dataclass(frozen=True)
class Probe:
    """`alternatives(facts, state)` are the admissible counterfactuals of `state`; none where the probe does not apply.

    `follows` names the probes whose counterfactual this one may be applied to.
    """

    cause: str
    alternatives: Callable[[Facts, RowState], list[RowState]]
    follows: tuple[str, ...] = ()


PROBES = (
    Probe(rejection_limit.CAUSE, rejection_limit.across_the_step, (threshold_crossing.CAUSE, tie_breaking.CAUSE)),
    Probe(threshold_crossing.CAUSE, threshold_crossing.other_prefix),
    Probe(tie_breaking.CAUSE, tie_breaking.other_ties, (threshold_crossing.CAUSE,)),
    Probe(
        cdf_boundary.CAUSE,
        cdf_boundary.beside_the_residue,
        (rejection_limit.CAUSE, threshold_crossing.CAUSE, tie_breaking.CAUSE),
    ),
)
RNG_STREAM = "rng_stream"
"""The one cause that is judged over all rows together (repro/drift/streams.py)."""
PAIRS = "pairs"
"""The name under which false matches of two combined probes are counted."""


def alternatives(facts: Facts, state: RowState) -> Iterator[RowState]:
    """Every admissible counterfactual of one or two steps, in the order in which causes are named: one step first."""
    singles = [(probe, other) for probe in PROBES for other in probe.alternatives(facts, state)]
    yield from (other for _, other in singles)
    for first, other in singles:
        for second in PROBES:
            if first.cause in second.follows:
                yield from second.alternatives(facts, other)


def cause_of(state: RowState) -> str:
    """The steps' causes joined by `+`."""
    return "+".join(step.cause for step in state.steps)

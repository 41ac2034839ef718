"""The hook that attributes differences, and how what it says joins a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.agreement import is_rate, percent, rate_of, sentence
from harness.case import Case, Floor, Inputs, Outputs
from harness.clusters import clustered_rate
from harness.plain import plain
from harness.result import Attribution, Comparison, Rate, worst

Mask = NDArray[np.bool_]
UNEXPLAINED = "unexplained"

Explain = Callable[[Case, Inputs, Outputs, Outputs, Mask], tuple[Attribution, Mapping[str, Any]]]
"""(case, inputs, baseline, candidate, rows whose tokens differ) -> (attribution of those rows, evidence).

It is called for every case with an agreement rule, also when nothing differs. The evidence holds JSON values and numpy
arrays; evidence["rows"], where given, is a table: column -> one value for every row. Its column `kept_cause` (str)
decides about `same_set(floor)`: "" where the sets are equal, "unexplained" where no probe was accepted, else the
proven cause.
"""


@dataclass(frozen=True)
class Explained:
    """What the hook said, as JSON values; `proven` are the rows whose other kept set has a proven cause."""

    attribution: Attribution | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    proven: Mask | None = None


def explained(
    explain: Explain, case: Case, inputs: Inputs, baseline: Outputs, candidate: Outputs, differing: Mask
) -> Explained:
    """Ask the hook about the rows `differing`. Raises ValueError where its books do not balance."""
    attribution, evidence = explain(case, inputs, baseline, candidate, differing)
    named = sum(count for cause, count in attribution.causes.items() if cause != UNEXPLAINED)
    if named + attribution.unexplained != differing.sum():
        raise ValueError(
            f"{named} rows attributed and {attribution.unexplained} unexplained, but {differing.sum()} rows differ"
        )
    table = plain(evidence)
    columns = table.get("rows", {})
    for name, values in columns.items():
        if len(values) != len(differing):
            raise ValueError(f"column {name!r} of the rows has {len(values)} entries for {len(differing)} rows")
    causes = columns.get("kept_cause")
    return Explained(
        attribution=replace(attribution, rows=tuple(plain(row) for row in attribution.rows)),
        evidence=table,
        proven=None if causes is None else np.asarray([cause not in ("", UNEXPLAINED) for cause in causes], np.bool_),
    )


@dataclass(frozen=True)
class Clustered:
    """Rows that are not independent: the cluster of each, and which of them differ."""

    labels: NDArray[Any]
    differing: Mask


def with_attribution(
    comparison: Comparison, attribution: Attribution | None, floor: Floor, clustered: Clustered | None = None
) -> Comparison:
    """The agreement with its residual: the unexplained rows against the residual floor, which joins the verdict.

    Without an attribution every differing row is unexplained. Where rows are `clustered` and the residual floor is a
    rate's, so is the residual.
    """
    assert comparison.rate is not None
    if clustered is not None and is_rate(floor.residual):
        residual = clustered_rate(~_unexplained(clustered, attribution), clustered.labels, floor.residual)
    else:
        unexplained = comparison.differing if attribution is None else attribution.unexplained
        residual = rate_of(comparison.rows - unexplained, comparison.rows, floor.residual)
    return rejudged(replace(comparison, attribution=attribution), comparison.rate, residual)


def rejudged(comparison: Comparison, rate: Rate, residual: Rate) -> Comparison:
    """The same comparison of a drawn output with these rates, its verdict and its reason."""
    attribution = comparison.attribution
    predicted = None if attribution is None else attribution.predicted
    without = " (nothing was explained)" if attribution is None and residual.equal < residual.rows else ""
    gate = "" if residual.floor is None else f", floor {100 * residual.floor:.6g} %: {residual.verdict.value}"
    return replace(
        comparison,
        verdict=worst([rate.verdict, residual.verdict]),
        reason=f"{sentence(rate, predicted)}; residual {residual.equal}/{residual.rows}{without}{gate}",
        rate=rate,
        attribution=None if attribution is None else replace(attribution, residual=residual),
    )


def _unexplained(clustered: Clustered, attribution: Attribution | None) -> Mask:
    """The differing rows that have no cause."""
    left = clustered.differing.copy()
    for row in () if attribution is None else attribution.rows:
        if row["cause"] != UNEXPLAINED:
            left[row["row"]] = False
    return left


def flags(comparison: Comparison) -> list[str]:
    """What a reader must see even where the verdict is green: a rate outside its prediction, above it too."""
    attribution = comparison.attribution
    if attribution is None or attribution.predicted is None or attribution.predicted.inside or comparison.rate is None:
        return []
    low, high = (percent(bound) for bound in attribution.predicted.interval)
    measured = percent(comparison.rate.rate)
    return [f"flag: measured agreement {measured} % lies outside the predicted 99 % interval {low}-{high} %"]

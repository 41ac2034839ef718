"""What was compared, with its evidence: frozen values that go to JSON and come back (docs/spec/verdict.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """Nothing but PASS is green, and PASS is impossible where nothing was compared."""

    PASS = "pass"
    DRIFT = "drift"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not_comparable"
    EMPTY = "empty"
    ERROR = "error"


EXIT_CODE = {
    Verdict.PASS: 0,
    Verdict.DRIFT: 1,
    Verdict.INCONCLUSIVE: 3,
    Verdict.NOT_COMPARABLE: 4,
    Verdict.EMPTY: 5,
    Verdict.ERROR: 70,
}
SEVERITY = (
    Verdict.ERROR, Verdict.NOT_COMPARABLE, Verdict.DRIFT, Verdict.EMPTY, Verdict.INCONCLUSIVE, Verdict.PASS,
)  # fmt: skip
"""Worst first: a run's verdict is the worst of its cases, a case's the worst of its comparisons."""


def worst(verdicts: list[Verdict]) -> Verdict:
    """The worst of `verdicts`; EMPTY when there are none."""
    return min(verdicts, key=SEVERITY.index, default=Verdict.EMPTY)


@dataclass(frozen=True)
class Difference:
    """One differing element: its index, both values and bit patterns (hex), their distance in ULP (None: no order)."""

    index: tuple[int, ...]
    baseline: str
    candidate: str
    baseline_bits: str
    candidate_bits: str
    ulp: int | None = None


@dataclass(frozen=True)
class Rate:
    """An agreement rate k / n with its bounds. `lower` is the exact one-sided Clopper-Pearson bound that gates,
    `wilson` the 95 % interval that is shown. Where rows come in `clusters`, both are of a bootstrap over clusters;
    after several `looks` at growing rows, both are of a sequence that holds at every look (harness/sequential.py).
    `p_drift` is the chance of at most this agreement at a true rate equal to the floor; None where no rate has that
    floor."""

    equal: int
    rows: int
    lower: float
    wilson: tuple[float, float]
    floor: float | None = None
    verdict: Verdict = Verdict.PASS
    visible_drop: float | None = None
    rows_needed: int | None = None
    clusters: int | None = None
    p_drift: float | None = None
    looks: int | None = None

    @property
    def rate(self) -> float:
        return self.equal / self.rows


@dataclass(frozen=True)
class Predicted:
    """The agreement rate expected from the rows' totals and margins alone, and its 99 % interval."""

    rate: float
    interval: tuple[float, float]
    inside: bool


@dataclass(frozen=True)
class Attribution:
    """Why rows disagree: counts by cause, what is left, and how often the probes match by chance.

    `rows` holds one mapping for each disagreeing row: row, cause, the counterfactual and its evidence, all JSON values.
    `false_match` is the share of rows "explained" when the baseline's tokens are replaced by independent draws.
    """

    causes: Mapping[str, int]
    unexplained: int
    false_match: Mapping[str, float]
    residual: Rate
    predicted: Predicted | None
    rows: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Closeness:
    """How far both sides lie from an fp64 reference, in ULP of the output's dtype at the reference.

    Maximum and median over all elements (infinite where a side is a NaN or an infinity that the reference is not), and
    in how many of the `differing` elements, whose bits differ between the sides, each one is the closer."""

    baseline_max: float
    candidate_max: float
    baseline_median: float
    candidate_median: float
    differing: int
    baseline_closer: int
    candidate_closer: int


@dataclass(frozen=True)
class Comparison:
    """One output under one rule.

    `elements` were compared in `rows` rows; `differing` counts what the rule refuses: elements, but rows under
    `same_set` and `agreement`. `first` and `worst` are such elements. `max_ulp`, `median_ulp` and `histogram` cover all
    elements that have a distance, in the units of the rule (integers: units; `same_set`: columns a row), the histogram
    by powers of two, with differences of a special class (`sign of zero`, `NaN payload`, ...) counted by name too.
    An output under an `ignore` in force has verdict EMPTY, and the case's verdict leaves it out.
    """

    output: str
    rule: str
    verdict: Verdict
    reason: str
    elements: int = 0
    rows: int = 0
    differing: int = 0
    first: Difference | None = None
    worst: Difference | None = None
    max_ulp: int | None = None
    median_ulp: float | None = None
    histogram: Mapping[str, int] = field(default_factory=dict)
    rate: Rate | None = None
    attribution: Attribution | None = None
    closeness: Closeness | None = None


@dataclass(frozen=True)
class CaseResult:
    """One case: its inputs' hashes, both subjects, every comparison, and what the picture needs (`evidence`).

    With a reason to be `report_only` it is shown and leaves the run's verdict alone.
    """

    name: str
    verdict: Verdict
    reason: str
    baseline: str
    candidate: str
    inputs: Mapping[str, str]
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    report_only: str = ""


@dataclass(frozen=True)
class RunResult:
    """A whole run. `suite` and `options` say what was asked; the environment is kept apart, in the bundle."""

    suite: str
    options: Mapping[str, Any]
    cases: tuple[CaseResult, ...]
    schema_version: int = 1

    @property
    def verdict(self) -> Verdict:
        return worst([case.verdict for case in self.cases if not case.report_only])

    @property
    def exit_code(self) -> int:
        return EXIT_CODE[self.verdict]

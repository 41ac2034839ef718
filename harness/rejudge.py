"""A case whose drawn output was judged again, by other bounds or beside other cases."""

from __future__ import annotations

from dataclasses import replace

from harness.result import CaseResult, Comparison, Verdict, worst

SETTLED = (Verdict.ERROR, Verdict.NOT_COMPARABLE)
"""Verdicts of a case that no rate changes."""


def drawn_of(case: CaseResult) -> Comparison | None:
    """The comparison that is a rate, with its residual rate; None where the case has none."""
    return next((one for one in case.comparisons if one.rate is not None and one.attribution is not None), None)


def with_drawn(case: CaseResult, drawn: Comparison) -> CaseResult:
    """The case with `drawn` in the place of its drawn comparison, and the verdict that follows."""
    comparisons = tuple(drawn if one.output == drawn.output else one for one in case.comparisons)
    if case.verdict in SETTLED:
        return replace(case, comparisons=comparisons)
    counted = [one for one in comparisons if not (one.verdict is Verdict.EMPTY and one.rule.startswith("ignore("))]
    verdict = worst([one.verdict for one in counted])
    if verdict is Verdict.PASS:
        return replace(case, comparisons=comparisons, verdict=verdict)
    at = next(one for one in counted if one.verdict is verdict)
    return replace(case, comparisons=comparisons, verdict=verdict, reason=f"{at.output}: {at.reason}")

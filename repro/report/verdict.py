"""verdict.json: what a gate reads. Sorted keys, floats in hex; verdict.schema.json beside this file is its schema."""

from __future__ import annotations

import json
from typing import Any

from harness.result import CaseResult, Comparison, Rate, RunResult

SCHEMA = "deepinfer-repro/verdict/1"


def verdict_json(run: RunResult) -> str:
    """The text of verdict.json."""
    data = {
        "schema": SCHEMA,
        "suite": run.suite,
        "verdict": run.verdict.value,
        "exit_code": run.exit_code,
        "cases": [_case(case) for case in run.cases],
    }
    return json.dumps(data, sort_keys=True, ensure_ascii=False, indent=1) + "\n"


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "name": case.name,
        "verdict": case.verdict.value,
        "reason": case.reason,
        "outputs": [_output(comparison) for comparison in case.comparisons],
    }


def _output(comparison: Comparison) -> dict[str, Any]:
    found: dict[str, Any] = {
        "output": comparison.output,
        "rule": comparison.rule,
        "verdict": comparison.verdict.value,
        "elements": comparison.elements,
        "rows": comparison.rows,
        "differing": comparison.differing,
        "max_ulp": comparison.max_ulp,
    }
    if comparison.rate is not None:
        found["agreement"] = _rate(comparison.rate)
    attribution = comparison.attribution
    if attribution is not None:
        predicted = attribution.predicted
        found["residual"] = _rate(attribution.residual)
        found["causes"] = dict(attribution.causes)
        found["unexplained"] = attribution.unexplained
        found["false_match"] = {name: share.hex() for name, share in attribution.false_match.items()}
        if predicted is not None:
            interval = [bound.hex() for bound in predicted.interval]
            found["predicted"] = {"rate": predicted.rate.hex(), "interval": interval, "inside": predicted.inside}
    return found


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "equal": rate.equal,
        "rows": rate.rows,
        "lower": rate.lower.hex(),
        "wilson": [bound.hex() for bound in rate.wilson],
        "floor": None if rate.floor is None else float(rate.floor).hex(),
        "verdict": rate.verdict.value,
        "rows_needed": rate.rows_needed,
    }

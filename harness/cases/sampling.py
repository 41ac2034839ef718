"""The suite `sampling`: samplers against DeepInfer 0.1.0's recorded outputs, and against each other."""

from __future__ import annotations

from functools import partial

from harness import recorded
from harness.case import Case, Floor
from harness.rules import Rule, agreement, bitwise, same_set, ulp
from harness.subjects import AnsweringSubject, parse_subject

RULES: dict[str, Rule] = {
    "tokens": agreement(),
    "kept": same_set(0.99),
    "kept_count": bitwise(),
    "lse": ulp(2, at_least=1.0),
    "logprobs8": ulp(2, at_least=1.0),
}


def cases(*, baseline: str | None = None, candidate: str | None = None, backend: str) -> list[Case]:
    """Every case, in the order of the report."""
    return [_fresh("real", "k50p.9", baseline or "recorded:deepinfer-0.1.0", candidate or "fused_sample", backend)]


def _fresh(kind: str, config: str, baseline: str, candidate: str, backend: str) -> Case:
    sides = [parse_subject(text, backend=backend, entry=(kind, config)) for text in (baseline, candidate)]
    return Case(
        name=f"{kind}/{config}/fused_sample-vs-deepinfer-0.1.0",
        inputs=partial(recorded.load_inputs, kind, config),
        rules=_rules(*sides),
        baseline=sides[0],
        candidate=sides[1],
        floor=Floor(0.82),
    )


def _rules(first: AnsweringSubject, second: AnsweringSubject) -> dict[str, Rule]:
    return {name: rule for name, rule in RULES.items() if name in first.answers and name in second.answers}

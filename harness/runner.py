"""Runs cases: both sides on copies of hashed inputs, each side against itself, then one against the other.

Read from `run` downward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from deepinfer.errors import InputError
from harness.canaries import Canaries
from harness.case import Case, Outputs, Subject
from harness.explanation import Explain
from harness.guard import hash_inputs
from harness.observers import check_choice
from harness.outputs import Answered, compare_outputs
from harness.plain import plain
from harness.result import CaseResult, RunResult, Verdict
from harness.sides import Sides, Stopped

__all__ = ["Explain", "Progress", "run", "run_case"]

Progress = Callable[[int, int, str], None]
"""Called before each case with (cases done, cases in all, name of the case), and once at the end with name ""."""


def run(
    cases: Iterable[Case],
    *,
    explain: Explain | None = None,
    progress: Progress | None = None,
    suite: str = "custom",
    options: Mapping[str, Any] | None = None,
    today: date | None = None,
    canaries: str = "fast",
    aa: str = "fast",
    beside: Sequence[Case] | None = None,
) -> RunResult:
    """Run every case. A subject that fails makes its case ERROR; the other cases go on.

    `explain` attributes differing draws; without it every one of them is unexplained. `suite` and `options` are noted
    in the result, with `canaries` ("fast", "full", "off": harness/canaries.py) and `aa` ("fast", "full":
    harness/observers.py); `today` is the day on which `ignore` rules are judged. `beside` are the cases from which full
    canaries take another case's output (None: these). Raises InputError where the cases
    themselves are wrong: two of one name, unreadable inputs, a vacuous rule, a rule that a canary finds green.
    """
    todo = list(cases)
    flock = Canaries(canaries, todo if beside is None else beside)
    check_choice(aa)
    names = [case.name for case in todo]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two cases are called {name!r}: give each its own name")
    done: list[CaseResult] = []
    for case in todo:
        if progress is not None:
            progress(len(done), len(todo), case.name)
        try:
            done.append(run_case(case, explain=explain, today=today, canaries=flock, aa=aa))
        except InputError as error:
            raise InputError(f"case {case.name}: {error}") from None
    if progress is not None:
        progress(len(done), len(todo), "")
    return RunResult(suite, plain({**(options or {}), "canaries": canaries, "aa": aa}), tuple(done))


def run_case(
    case: Case,
    *,
    explain: Explain | None = None,
    today: date | None = None,
    canaries: Canaries | None = None,
    aa: str = "fast",
) -> CaseResult:
    """One case: each side answers and is run against itself, the answers are compared and explained, and a green one
    is attacked (None: by fast canaries)."""
    inputs = case.inputs()
    hashes = hash_inputs(inputs)
    sides = Sides(case, inputs, hashes, aa)
    try:
        baseline = sides.answer("baseline", case.baseline)
        candidate = sides.answer("candidate", case.candidate)
        reference = sides.reference()
    except Stopped as stop:
        return CaseResult(
            name=case.name,
            verdict=stop.verdict,
            reason=stop.reason,
            baseline=case.baseline.describe,
            candidate=case.candidate.describe,
            inputs=hashes,
            comparisons=stop.comparisons,
            notes=case.notes,
        )
    compared = compare_outputs(Answered(case, inputs, baseline, candidate, reference, today or date.today()), explain)
    attacked: tuple[str, ...] = ()
    if compared.verdict is Verdict.PASS:
        results = baseline.evidence, candidate.evidence
        attacked = ((canaries or Canaries("fast")).attack(case, hashes, compared.green, results),)
    return CaseResult(
        name=case.name,
        verdict=compared.verdict,
        reason=compared.reason,
        baseline=_described(case.baseline, baseline),
        candidate=_described(case.candidate, candidate),
        inputs=hashes,
        comparisons=compared.comparisons,
        notes=(*case.notes, *sides.notes(), *attacked, *compared.notes),
        evidence=compared.evidence,
    )


def _described(subject: Subject, answered: Outputs) -> str:
    return f"{subject.describe}, {answered.ran}" if answered.ran else subject.describe

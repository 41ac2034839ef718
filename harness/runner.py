"""Runs cases: both sides on copies of hashed inputs, each side against itself, then one against the other.

Read from `run` downward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from deepinfer.errors import InputError
from harness.case import Array, Case, Inputs, Outputs, Subject
from harness.compare import compare, rows_differ
from harness.explanation import Explain, Explained, explained, flags, with_attribution
from harness.guard import hash_inputs
from harness.plain import plain
from harness.recording_file import one_line
from harness.result import CaseResult, Comparison, RunResult, Verdict, worst
from harness.rules import Agreement, Ignore
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
) -> RunResult:
    """Run every case. A subject that fails makes its case ERROR; the other cases go on.

    `explain` attributes differing draws; without it every one of them is unexplained. `suite` and `options` are noted
    in the result; `today` is the day on which `ignore` rules are judged. Raises InputError where the cases themselves
    are wrong: two of one name, unreadable inputs, a vacuous rule.
    """
    todo = list(cases)
    names = [case.name for case in todo]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two cases are called {name!r}: give each its own name")
    done: list[CaseResult] = []
    for case in todo:
        if progress is not None:
            progress(len(done), len(todo), case.name)
        try:
            done.append(run_case(case, explain=explain, today=today))
        except InputError as error:
            raise InputError(f"case {case.name}: {error}") from None
    if progress is not None:
        progress(len(done), len(todo), "")
    return RunResult(suite, plain(options or {}), tuple(done))


def run_case(case: Case, *, explain: Explain | None = None, today: date | None = None) -> CaseResult:
    """One case: each side answers and is run against itself, then the answers are compared and explained."""
    inputs = case.inputs()
    hashes = hash_inputs(inputs)
    sides = Sides(case, inputs, hashes)
    try:
        baseline = sides.answer("baseline", case.baseline)
        candidate = sides.answer("candidate", case.candidate)
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
    compared = _compare_outputs(case, inputs, baseline, candidate, explain, today or date.today())
    verdict, reason = compared.failure or _verdict(case, compared.comparisons)
    return CaseResult(
        name=case.name,
        verdict=verdict,
        reason=reason,
        baseline=_described(case.baseline, baseline),
        candidate=_described(case.candidate, candidate),
        inputs=hashes,
        comparisons=compared.comparisons,
        notes=(*case.notes, sides.note(), *compared.notes),
        evidence=compared.evidence,
    )


@dataclass(frozen=True)
class _Compared:
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    failure: tuple[Verdict, str] | None = None


def _compare_outputs(
    case: Case, inputs: Inputs, baseline: Outputs, candidate: Outputs, explain: Explain | None, today: date
) -> _Compared:
    """Every output of either side under its rule; the drawn one first, as its explanation may prove sets."""
    drawn = _drawn_output(case)
    names = [*case.rules, *sorted({*baseline.arrays, *candidate.arrays} - {*case.rules})]
    found: dict[str, Comparison] = {}
    told = Explained()
    failure = None
    for name in sorted(names, key=lambda name: name != drawn):
        rule = case.rules.get(name)
        a, b = baseline.arrays.get(name), candidate.arrays.get(name)
        labels = _clusters(inputs, rule) if isinstance(rule, Agreement) else None
        found[name] = compare(rule, a, b, case.floor, output=name, clusters=labels, proven=told.proven, today=today)
        if name == drawn and found[name].rate is not None:
            assert case.floor is not None and a is not None and b is not None
            if explain is not None:
                try:
                    told = explained(explain, case, inputs, baseline, candidate, rows_differ(a, b))
                except Exception as error:
                    failure = Verdict.ERROR, f"the explanation failed: {one_line(error)}"
            found[name] = with_attribution(found[name], told.attribution, case.floor)
    notes = tuple(flags(found[drawn])) if drawn in found else ()
    return _Compared(tuple(found[name] for name in names), notes, told.evidence, failure)


def _drawn_output(case: Case) -> str | None:
    """The output under agreement; a case has one, as one attribution explains it."""
    drawn = [name for name, rule in case.rules.items() if isinstance(rule, Agreement)]
    if len(drawn) > 1:
        raise InputError(f"agreement rules for {drawn[0]!r} and {drawn[1]!r}: give a case one drawn output")
    return drawn[0] if drawn else None


def _clusters(inputs: Inputs, rule: Agreement) -> Array | None:
    if rule.cluster is None:
        return None
    if rule.cluster not in inputs:
        raise InputError(f"{rule.text}: the inputs have no {rule.cluster!r}; they are {', '.join(sorted(inputs))}")
    labels: Array = inputs[rule.cluster]
    return labels


def _verdict(case: Case, comparisons: tuple[Comparison, ...]) -> tuple[Verdict, str]:
    """The worst comparison and its reason. An `ignore` in force does not count: nothing was compared."""
    counted = [one for one in comparisons if not _is_ignored(case, one)]
    verdict = worst([one.verdict for one in counted])
    if not counted:
        return verdict, "nothing was compared: there is no output, or each is ignored"
    if verdict is Verdict.PASS:
        return verdict, f"{len(counted)} outputs compared, {sum(one.elements for one in counted)} elements"
    reasons = [f"{one.output}: {one.reason}" for one in counted if one.verdict is verdict]
    return verdict, reasons[0] + (f" (and {len(reasons) - 1} more outputs)" if len(reasons) > 1 else "")


def _is_ignored(case: Case, comparison: Comparison) -> bool:
    return isinstance(case.rules.get(comparison.output), Ignore) and comparison.verdict is Verdict.EMPTY


def _described(subject: Subject, answered: Outputs) -> str:
    return f"{subject.describe}, {answered.ran}" if answered.ran else subject.describe

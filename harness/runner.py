"""Runs cases: both sides on copies of hashed inputs, each side against itself, then one against the other.

Read from `run` downward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from harness.agreement import percent, rate_of, sentence
from harness.bits import comparable
from harness.case import Array, Case, Floor, Inputs, Outputs, Subject
from harness.compare import compare, rows_differ
from harness.guard import copies, first_rows, hash_inputs, mutated, overlapping, own, row_count
from harness.plain import plain
from harness.result import Attribution, CaseResult, Comparison, RunResult, Verdict, worst
from harness.rules import Agreement, Ignore, bitwise
from harness.subjects import one_line

Explain = Callable[[Case, Inputs, Outputs, Outputs, NDArray[np.bool_]], tuple[Attribution, Mapping[str, Any]]]
"""The hook that attributes differences: (case, inputs, baseline, candidate, rows whose tokens differ) -> (attribution
of those rows, evidence). It is called for every case with an agreement rule, also when nothing differs. The evidence
holds JSON values and numpy arrays; evidence["rows"], where given, is a table, column -> one value for every row. Its
column `kept_cause` (str) decides about `same_set(floor)`: "" where the sets are equal, "unexplained" where no probe
was accepted, else the proven cause."""

UNEXPLAINED = "unexplained"

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

    Raises InputError where the cases themselves are wrong: two of one name, unreadable inputs, a vacuous rule.
    """
    todo = list(cases)
    names = [case.name for case in todo]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"two cases are called {twice[0]!r}: give each its own name")
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
    sides = _Sides(case, inputs, hashes)
    try:
        baseline = sides.answer("baseline", case.baseline)
        candidate = sides.answer("candidate", case.candidate)
    except _Stopped as stop:
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
    verdict, reason = compared.failure or _verdict(compared.comparisons, case)
    return CaseResult(
        name=case.name,
        verdict=verdict,
        reason=reason,
        baseline=_described(case.baseline, baseline),
        candidate=_described(case.candidate, candidate),
        inputs=hashes,
        comparisons=tuple(compared.comparisons),
        notes=(*case.notes, sides.note(), *compared.notes),
        evidence=compared.evidence,
    )


@dataclass
class _Stopped(Exception):  # noqa: N818 - a verdict, not an error
    """The case ends here, with this verdict."""

    verdict: Verdict
    reason: str
    comparisons: tuple[Comparison, ...] = ()


@dataclass
class _Sides:
    """Asks both subjects, and remembers the buffers that they handed back."""

    case: Case
    inputs: Inputs
    hashes: Mapping[str, str]
    buffers: list[tuple[str, Outputs]] = field(default_factory=list)

    def answer(self, side: str, subject: Subject) -> Outputs:
        """The subject's answer, after the subject has given the same bits twice."""
        first = self._ask(side, subject, self.inputs)
        if self._whole:
            again, other = first, self._ask(side, subject, self.inputs)
        else:
            part = first_rows(self.inputs, self.case.self_rows or 0)
            again, other = self._ask(side, subject, part), self._ask(side, subject, part)
        differing = tuple(_against_itself(side, self.case, again, other))
        if differing:
            worst_one = differing[0]
            raise _Stopped(
                Verdict.DRIFT, f"run-to-run: the {side} differs from itself: {worst_one.output}: {worst_one.reason}",
                differing,
            )  # fmt: skip
        return first

    def note(self) -> str:
        rows = "the whole case" if self._whole else f"the first {self.case.self_rows} rows"
        return f"each side gave the same bits twice on {rows}"

    @property
    def _whole(self) -> bool:
        return self.case.self_rows is None or self.case.self_rows >= (row_count(self.inputs) or 0)

    def _ask(self, side: str, subject: Subject, inputs: Inputs) -> Outputs:
        """One answer on a copy of the inputs, in memory of our own. The buffers that came back are poisoned, so that
        one which is handed out again unwritten, or by the other side, shows."""
        handed = copies(inputs)
        hashes = self.hashes if inputs is self.inputs else hash_inputs(inputs)
        asked = tuple(name for name, rule in self.case.rules.items() if not isinstance(rule, Ignore))
        try:
            answered = subject(handed, asked)
        except Exception as error:
            raise _Stopped(Verdict.ERROR, f"the {side} failed: {one_line(error)}") from error
        changed = mutated(handed, inputs, hashes)
        if changed:
            raise _Stopped(Verdict.NOT_COMPARABLE, f"the {side} wrote to its input {changed!r}")
        for owner, earlier in self.buffers:
            shared = overlapping(earlier, answered)
            if shared and owner != side:
                raise _Stopped(Verdict.NOT_COMPARABLE, f"the {side}'s {shared!r} lies in a buffer of the {owner}")
        self.buffers.append((side, answered))
        return own(answered)


def _against_itself(side: str, case: Case, first: Outputs, second: Outputs) -> Iterator[Comparison]:
    """Every output, ignored ones apart, that is not bit for bit what the same subject answered before."""
    for name in sorted({*first.arrays, *second.arrays}):
        if isinstance(case.rules.get(name), Ignore):
            continue
        pair = first.arrays.get(name), second.arrays.get(name)
        comparison = compare(bitwise(), *pair, output=name)
        if comparison.verdict not in (Verdict.PASS, Verdict.EMPTY) and _has_bits(*pair):
            yield replace(comparison, rule=f"bitwise, {side} against itself")


def _has_bits(first: Array | None, second: Array | None) -> bool:
    """Whether the two answers can be told apart by bits; what no rule can compare is refused later, with its reason."""
    return not (first is not None and second is not None and first.dtype == second.dtype) or comparable(first.dtype)


@dataclass(frozen=True)
class _Compared:
    comparisons: list[Comparison]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failure: tuple[Verdict, str] | None = None


def _compare_outputs(
    case: Case, inputs: Inputs, baseline: Outputs, candidate: Outputs, explain: Explain | None, today: date
) -> _Compared:
    """Every output of either side under its rule, draws first, because their explanation may prove sets."""
    names = [*case.rules, *sorted({*baseline.arrays, *candidate.arrays} - {*case.rules})]
    draws = [name for name, rule in case.rules.items() if isinstance(rule, Agreement)]
    if len(draws) > 1:
        raise InputError(f"agreement rules for {draws[0]!r} and {draws[1]!r}: give a case one drawn output")
    comparisons: dict[str, Comparison] = {}
    explained = _Explained(None)
    failure = None
    for name in sorted(names, key=lambda name: name not in draws):
        rule = case.rules.get(name)
        pair = baseline.arrays.get(name), candidate.arrays.get(name)
        clusters = inputs[rule.cluster] if isinstance(rule, Agreement) and rule.cluster is not None else None
        comparison = compare(
            rule, *pair, case.floor, output=name, clusters=clusters, proven=explained.proven, today=today
        )
        if isinstance(rule, Agreement) and comparison.rate is not None:
            assert case.floor is not None
            try:
                explained = _explained(case, inputs, baseline, candidate, name, explain)
            except Exception as error:
                failure = Verdict.ERROR, f"the explanation failed: {one_line(error)}"
            comparison = with_attribution(comparison, explained.attribution, case.floor)
        comparisons[name] = comparison
    drawn = [comparisons[name] for name in draws]
    notes = tuple(note for comparison in drawn for note in _flags(comparison))
    return _Compared([comparisons[name] for name in names], explained.evidence, notes, failure)


@dataclass(frozen=True)
class _Explained:
    attribution: Attribution | None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    proven: NDArray[np.bool_] | None = None


def _explained(
    case: Case, inputs: Inputs, baseline: Outputs, candidate: Outputs, output: str, explain: Explain | None
) -> _Explained:
    if explain is None:
        return _Explained(None)
    differing = rows_differ(baseline.arrays[output], candidate.arrays[output])
    attribution, evidence = explain(case, inputs, baseline, candidate, differing)
    named = sum(count for cause, count in attribution.causes.items() if cause != UNEXPLAINED)
    if named + attribution.unexplained != int(differing.sum()):
        raise ValueError(
            f"{named} attributed and {attribution.unexplained} unexplained rows for {int(differing.sum())} that differ"
        )
    table = plain(evidence)
    causes = table.get("rows", {}).get("kept_cause")
    proven = None if causes is None else np.asarray([cause not in ("", UNEXPLAINED) for cause in causes], np.bool_)
    if proven is not None and len(proven) != len(differing):
        raise ValueError(f"kept_cause has {len(proven)} entries for {len(differing)} rows")
    return _Explained(replace(attribution, rows=tuple(plain(row) for row in attribution.rows)), table, proven)


def with_attribution(comparison: Comparison, attribution: Attribution | None, floor: Floor) -> Comparison:
    """The agreement with its residual: the unexplained rows against the residual floor, which joins the verdict."""
    assert comparison.rate is not None
    unexplained = comparison.differing if attribution is None else attribution.unexplained
    residual = rate_of(comparison.rows - unexplained, comparison.rows, floor.residual)
    predicted = None if attribution is None else attribution.predicted
    without = " (nothing explained)" if attribution is None else ""
    return replace(
        comparison,
        verdict=worst([comparison.rate.verdict, residual.verdict]),
        reason=f"{sentence(comparison.rate, predicted)}; residual {residual.equal}/{residual.rows}{without},"
        f" floor {100 * floor.residual:.6g} %: {residual.verdict.value}",
        attribution=None if attribution is None else replace(attribution, residual=residual),
    )


def _flags(comparison: Comparison) -> list[str]:
    """What a reader must see even where the verdict is green."""
    attribution = comparison.attribution
    if attribution is None or attribution.predicted is None or attribution.predicted.inside or comparison.rate is None:
        return []
    low, high = (percent(bound) for bound in attribution.predicted.interval)
    measured = percent(comparison.rate.rate)
    return [f"flag: measured agreement {measured} % lies outside the predicted 99 % interval {low}-{high} %"]


def _verdict(comparisons: list[Comparison], case: Case) -> tuple[Verdict, str]:
    """The worst comparison and its reason. An `ignore` in force does not count: nothing was compared."""
    counted = [
        c for c in comparisons if not (isinstance(case.rules.get(c.output), Ignore) and c.verdict is Verdict.EMPTY)
    ]
    verdict = worst([c.verdict for c in counted])
    if not counted:
        return verdict, "nothing was compared: every output is ignored, or there is none"
    if verdict is Verdict.PASS:
        return verdict, f"{len(counted)} outputs compared, {sum(c.elements for c in counted)} elements"
    reasons = [f"{c.output}: {c.reason}" for c in counted if c.verdict is verdict]
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return verdict, reasons[0] + more


def _described(subject: Subject, answered: Outputs) -> str:
    return f"{subject.describe}, {answered.ran}" if answered.ran else subject.describe

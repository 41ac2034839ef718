"""What a report says, in words and rounded numbers: with words.py the only place where a result is formatted.

HTML, Markdown, terminal and `verdict.json` are written from a RunView. It is a function of the RunResult alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.explanation import UNEXPLAINED
from harness.result import SEVERITY, Attribution, CaseResult, Comparison, RunResult, Verdict
from repro.drift.story import RowStory, story
from repro.report.words import (
    cause_name,
    cause_text,
    count,
    difference_text,
    explain_command,
    percent,
    run_command,
    value_text,
)


@dataclass(frozen=True)
class RateView:
    """An agreement as numbers for a picture (`share`, ...) and as words for a table."""

    equal: int
    rows: int
    share: float
    wilson: tuple[float, float]
    lower: float
    floor: float | None
    predicted: float | None
    expected: tuple[float, float] | None
    agreement: str
    floor_text: str
    predicted_text: str
    residual: str
    flagged: bool


@dataclass(frozen=True)
class OutputView:
    """One comparison as table cells."""

    output: str
    rule: str
    verdict: str
    compared: str
    differing: str
    reason: str
    first: str
    worst: str


@dataclass(frozen=True)
class CaseView:
    """One case. Its name is FAMILY/.../GROUP: `label` is what stands before the group, which says who is compared.
    `rows` are the stories of the rows whose tokens differ."""

    name: str
    label: str
    group: str
    family: str
    anchor: str
    verdict: str
    reason: str
    baseline: str
    candidate: str
    outputs: tuple[OutputView, ...]
    rate: RateView | None
    kept: str
    causes: Mapping[str, int]
    cause_text: str
    false_match: str
    notes: tuple[str, ...]
    inputs: Mapping[str, str]
    rows: tuple[RowStory, ...]
    report_only: str = ""

    @property
    def verdict_text(self) -> str:
        """The verdict, and whether it leaves the run's alone."""
        return f"{self.verdict} (report only)" if self.report_only else self.verdict


@dataclass(frozen=True)
class First:
    """Where the sides first part: in a case that is not green, else a difference that is explained."""

    case: str
    anchor: str
    output: str
    where: str
    baseline: str
    candidate: str
    why: str
    row: int | None
    command: str


@dataclass(frozen=True)
class RunView:
    """A whole report."""

    suite: str
    verdict: str
    exit_code: int
    headline: str
    answer: str
    ledger: tuple[tuple[str, str], ...]
    first: First | None
    causes: Mapping[str, int]
    cause_text: str
    command: str
    cases: tuple[CaseView, ...]

    @property
    def front(self) -> tuple[CaseView, ...]:
        """The cases that a reader sees first: the family of the first one, and whatever is not green."""
        return tuple(case for case in self.cases if case.family == self.cases[0].family or case.verdict != "pass")

    @property
    def rest(self) -> tuple[CaseView, ...]:
        """The other cases."""
        front = {case.anchor for case in self.front}
        return tuple(case for case in self.cases if case.anchor not in front)

    @property
    def worst_first(self) -> tuple[CaseView, ...]:
        """The cases by verdict, those that are only reported last."""
        rank = {verdict.value: place for place, verdict in enumerate(SEVERITY)}
        return tuple(sorted(self.cases, key=lambda case: (bool(case.report_only), rank[case.verdict])))


def view_of(run: RunResult) -> RunView:
    """The view of a whole run."""
    cases = tuple(_case(case, index) for index, case in enumerate(run.cases))
    causes = add_up(case.causes for case in cases)
    return RunView(
        suite=run.suite,
        verdict=run.verdict.value,
        exit_code=run.exit_code,
        headline=_headline(run),
        answer=_answer(run, causes),
        ledger=_ledger(run),
        first=_first(run, cases),
        causes=causes,
        cause_text=cause_text(causes),
        command=run_command(run),
        cases=cases,
    )


def _headline(run: RunResult) -> str:
    by = Counter(case.verdict for case in run.cases if not case.report_only)
    parts = [f"{by[verdict]} {verdict.value.replace('_', ' ')}" for verdict in Verdict if by[verdict]]
    if by.total() < len(run.cases):
        parts.append(f"{len(run.cases) - by.total()} only reported")
    number = len(run.cases)
    return f"{number} case{'s' if number > 1 else ''}: {', '.join(parts)}" if parts else "nothing was compared"


def _answer(run: RunResult, causes: Mapping[str, int]) -> str:
    """How many tokens agree and how many of the others are explained, in one sentence."""
    drawn = [c for case in run.cases for c in case.comparisons if c.rate is not None]
    rows, differing = sum(c.rows for c in drawn), sum(causes.values())
    if not rows:
        return "No token was drawn at random: every output is compared as it is."
    left = causes.get(UNEXPLAINED, 0)
    if not differing:
        return f"All {count(rows)} tokens agree."
    rest = "each has a cause that is proven" if not left else f"{count(left)} have no cause that could be proven"
    return f"{count(rows - differing)} of {count(rows)} tokens agree. Of the {count(differing)} others, {rest}."


def _ledger(run: RunResult) -> tuple[tuple[str, str], ...]:
    compared = [c for case in run.cases for c in case.comparisons]
    counted = [c for c in compared if c.elements]
    drawn = [c for c in compared if c.rate is not None]
    differing = sum(c.differing for c in drawn)
    unexplained = sum(c.attribution.unexplained if c.attribution else c.differing for c in drawn)
    return (
        ("cases", count(len(run.cases))),
        ("outputs compared", count(len(counted))),
        ("outputs not compared", count(len(compared) - len(counted))),
        ("elements compared", count(sum(c.elements for c in counted))),
        ("tokens compared", count(sum(c.rows for c in drawn))),
        ("tokens that differ", count(differing)),
        ("of these unexplained", count(unexplained)),
    )


def _case(case: CaseResult, index: int) -> CaseView:
    drawn = next((c for c in case.comparisons if c.rate is not None), None)
    attribution = drawn.attribution if drawn else None
    label, _, group = case.name.rpartition("/")
    return CaseView(
        name=case.name,
        label=label or group,
        group=group if label else "",
        family=case.name.split("/")[0] if label else "",
        anchor=f"case-{index + 1}-{re.sub(r'[^a-z0-9]+', '-', case.name.lower()).strip('-')}",
        verdict=case.verdict.value,
        reason=case.reason,
        baseline=case.baseline,
        candidate=case.candidate,
        outputs=tuple(_output(c) for c in case.comparisons),
        rate=_rate(drawn) if drawn else None,
        kept=_kept(case.comparisons),
        causes=_causes(drawn),
        cause_text=cause_text(_causes(drawn)) if drawn else "-",
        false_match=_false_match(attribution),
        notes=(f"report only: {case.report_only}", *case.notes) if case.report_only else case.notes,
        inputs=case.inputs,
        rows=_stories(case, attribution),
        report_only=case.report_only,
    )


def _false_match(attribution: Attribution | None) -> str:
    """The total, and the probes that contribute to it."""
    if attribution is None or not attribution.false_match:
        return ""
    shares = dict(attribution.false_match)
    total = shares.pop("total", max(shares.values()))
    parts = [f"{cause_name(name)} {percent(share)} %" for name, share in shares.items() if share >= 0.0005]
    return f"{percent(total)} %" + (f" ({', '.join(parts)})" if parts else "")


def _stories(case: CaseResult, attribution: Attribution | None) -> tuple[RowStory, ...]:
    """The stories of the differing rows; none where nothing about them is known."""
    if attribution is None or "about" not in case.evidence:
        return ()
    return tuple(story(row, case.evidence["about"]) for row in attribution.rows)


def _causes(drawn: Comparison | None) -> dict[str, int]:
    if drawn is None:
        return {}
    if drawn.attribution is None:
        return {UNEXPLAINED: drawn.differing} if drawn.differing else {}
    return add_up([{**drawn.attribution.causes, UNEXPLAINED: drawn.attribution.unexplained}])


def add_up(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts added up, largest first, unexplained last, zeros left out."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    order = sorted(total, key=lambda cause: (cause == UNEXPLAINED, -total[cause], cause))
    return {cause: total[cause] for cause in order if total[cause]}


def _rate(drawn: Comparison) -> RateView:
    rate, attribution = drawn.rate, drawn.attribution
    assert rate is not None
    predicted = attribution.predicted if attribution else None
    low, high = rate.wilson
    residual = attribution.residual if attribution else None
    return RateView(
        equal=rate.equal,
        rows=rate.rows,
        share=rate.rate,
        wilson=rate.wilson,
        lower=rate.lower,
        floor=rate.floor,
        predicted=predicted.rate if predicted else None,
        expected=predicted.interval if predicted else None,
        agreement=f"{percent(rate.rate)} % ({percent(low)}-{percent(high)})",
        floor_text=f"{100 * rate.floor:.6g} %" if rate.floor is not None else "-",
        predicted_text=f"{percent(predicted.rate)} %{'' if predicted.inside else ' (outside)'}" if predicted else "-",
        residual=f"{residual.equal}/{residual.rows}" if residual else "-",
        flagged=predicted is not None and not predicted.inside,
    )


def _kept(comparisons: Sequence[Comparison]) -> str:
    sets = next((c for c in comparisons if c.output in ("kept", "kept_count") and c.rows), None)
    return f"{sets.rows - sets.differing}/{sets.rows}" if sets else "-"


def _output(comparison: Comparison) -> OutputView:
    return OutputView(
        output=comparison.output,
        rule=comparison.rule,
        verdict=comparison.verdict.value,
        compared=count(comparison.elements),
        differing=count(comparison.differing),
        reason=comparison.reason,
        first=difference_text(comparison.first),
        worst=difference_text(comparison.worst),
    )


def _first(run: RunResult, views: Sequence[CaseView]) -> First | None:
    """The first difference of the first case that is not green; where all are, the first token that differs."""
    pairs = [(case, view) for case, view in zip(run.cases, views, strict=True)]
    red = [pair for pair in pairs if pair[0].verdict is not Verdict.PASS and not pair[0].report_only]
    for case, view in red or pairs:
        ranked = [c for c in case.comparisons if c.first and (c.verdict is not Verdict.PASS or not red)]
        if ranked:
            return _divergence(view, ranked[0])
        if red:
            return First(case.name, view.anchor, "", "", "", "", case.reason, None, "")
    return None


def _divergence(view: CaseView, comparison: Comparison) -> First:
    first = comparison.first
    assert first is not None
    row = first.index[0] if comparison.rate is not None else None
    cause = next((told.title.partition(": ")[2] for told in view.rows if told.row == row), None)
    return First(
        case=view.name,
        anchor=view.anchor,
        output=comparison.output,
        where=f"{comparison.output}[{', '.join(map(str, first.index))}]",
        baseline=value_text(first.baseline, first.baseline_bits),
        candidate=value_text(first.candidate, first.candidate_bits),
        why=f"cause: {cause}" if cause else comparison.reason,
        row=row,
        command="" if row is None else explain_command("RUN", view.name, row),
    )

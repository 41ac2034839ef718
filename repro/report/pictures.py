"""Which pictures a report shows, and the numbers that go into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.result import CaseResult, RunResult
from repro.report import figures
from repro.report.draw_figure import Side, draw
from repro.report.svg import drawing
from repro.report.view import CaseView, RunView, add_up
from repro.report.words import totals_text

MAX_LINES = 80
"""Lines of one picture."""
MAX_BARS = 12
"""Cases that have a bar each in the picture of causes; of more, there is a bar a group."""
MAX_CASES = 3
"""Cases whose totals and draws are pictured."""


@dataclass(frozen=True)
class CasePicture:
    """The pictures of one case, as HTML; `row` is the pictured draw."""

    case: str
    anchor: str
    totals: str
    totals_text: str
    row: int
    draw: str


@dataclass(frozen=True)
class Pictures:
    """Everything drawn, as HTML; an empty string where there is nothing to draw."""

    causes: str
    front: str
    rest: str
    cases: tuple[CasePicture, ...]
    left_out: int


def pictures_of(run: RunResult, view: RunView) -> Pictures:
    """Draw what a report shows."""
    pairs = [pair for pair in zip(run.cases, view.cases, strict=True) if pair[0].evidence.get("cdf")]
    return Pictures(
        causes=_causes(view),
        front=_agreement("front", view.front),
        rest=_agreement("rest", view.rest),
        cases=tuple(_case(*pair, index) for index, pair in enumerate(pairs[:MAX_CASES])),
        left_out=max(len(pairs) - MAX_CASES, 0),
    )


def _case(case: CaseResult, view: CaseView, index: int) -> CasePicture:
    told, cdf = case.evidence["totals"], case.evidence["cdf"]
    data = figures.Totals(told["baseline"], told["candidate"], told["differs"])
    return CasePicture(
        case=case.name,
        anchor=view.anchor,
        totals=drawing(f"totals{index}", f"Totals around 2^31, {case.name}", lambda width: figures.totals(data, width)),
        totals_text=totals_text(told, len(case.evidence["rows"]["row"])),
        row=cdf["row"],
        draw=_draw(cdf, index),
    )


def _draw(cdf: Mapping[str, Any], index: int) -> str:
    baseline, candidate = (_side(cdf[name]) for name in ("baseline", "candidate"))
    text = f"Row {cdf['row']}: both sides' distributions along the 32-bit words, and the words that each takes"
    return drawing(f"draw{index}", text, lambda width: draw(baseline, candidate, width))


def _side(told: Mapping[str, Any]) -> Side:
    beside = told["beside"]
    plain = {name: told[name] for name in ("total", "limit", "words", "residue", "token", "interval", "edges")}
    return Side(**plain, columns=beside["columns"], beside=beside["edges"])


def _causes(view: RunView) -> str:
    """A bar a case, or a bar a group where there are many cases."""
    some = [case for case in view.cases if case.causes]
    if not some:
        return ""
    named = [(case.name if len(some) <= MAX_BARS else case.group or case.name, case.causes) for case in some]
    data = {name: add_up(causes for other, causes in named if other == name) for name, _ in named}
    shown = dict(list(data.items())[:MAX_LINES])
    return drawing("causes", "Rows whose tokens differ, by cause", lambda width: figures.causes(shown, width))


def _agreement(name: str, cases: Sequence[CaseView]) -> str:
    """A line for each case in which something differs, or that is not green."""
    lines = [_interval(case) for case in cases if case.rate and (case.causes or case.verdict != "pass")]
    if not lines:
        return ""
    text = "Measured agreement of each case with its interval, its floor and its prediction"
    return drawing(name, text, lambda width: figures.agreement(lines[:MAX_LINES], width))


def _interval(case: CaseView) -> figures.Interval:
    rate = case.rate
    assert rate is not None
    return figures.Interval(
        label=case.label,
        group=case.group,
        share=rate.share,
        low=rate.wilson[0],
        high=rate.wilson[1],
        text=f"{rate.equal}/{rate.rows}",
        floor=rate.floor,
        predicted=rate.predicted,
        expected=rate.expected,
    )

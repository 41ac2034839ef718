"""Which pictures a report shows, and the numbers that go into them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.result import RunResult
from repro.report import figures
from repro.report.svg import drawing
from repro.report.view import CaseView, RunView

MAX_LINES = 60
"""Cases in the agreement and cause pictures."""
MAX_CASES = 4
"""Cases whose totals and draws are pictured: those with most differing tokens."""


@dataclass(frozen=True)
class CasePicture:
    """The pictures of one case, as HTML."""

    case: str
    totals: str
    draws: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Pictures:
    """Everything drawn, as HTML; an empty string where there is nothing to draw."""

    causes: str
    agreement: str
    cases: tuple[CasePicture, ...]
    left_out: str


def pictures_of(run: RunResult, view: RunView) -> Pictures:
    """Draw what a report shows."""
    return Pictures(causes=_causes(view), agreement=_agreement(view), cases=(), left_out="")


def _causes(view: RunView) -> str:
    data = {case.name: case.causes for case in view.cases if case.causes}
    if not data:
        return ""
    shown = dict(sorted(data.items(), key=lambda item: -sum(item[1].values()))[:MAX_LINES])
    return drawing("causes", "Rows whose tokens differ, by case and cause", lambda width: figures.causes(shown, width))


def _agreement(view: RunView) -> str:
    lines = [_interval(case) for case in view.cases if case.rate and (case.causes or case.verdict != "pass")]
    if not lines:
        return ""
    return drawing(
        "agreement",
        "Measured agreement of each case with its interval, its floor and its prediction",
        lambda width: figures.agreement(lines[:MAX_LINES], width),
    )


def _interval(case: CaseView) -> figures.Interval:
    rate: Any = case.rate
    label, slash, group = case.name.rpartition("/")
    return figures.Interval(
        label=label if slash else case.name,
        group=group if slash else "",
        share=rate.share,
        low=rate.wilson[0],
        high=rate.wilson[1],
        text=f"{rate.equal}/{rate.rows}",
        floor=rate.floor,
        predicted=rate.predicted,
        expected=rate.expected,
    )

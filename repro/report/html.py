"""A RunView as one HTML file: no network, no script, the same bytes for the same run."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import Any

from harness.result import RunResult
from repro.drift.story import RowStory
from repro.report.pictures import pictures_of
from repro.report.view import RunView
from repro.report.words import SIGN, TEXTS

MAX_BYTES = 2_000_000
ROW_LIMITS = (50, 20, 10, 5, 2, 1, 0)
"""Rows shown a case: the largest with which the page stays under MAX_BYTES. The page says what it leaves out."""
MARGIN = 20_000
"""Bytes left for the page around the body."""


def page(run: RunResult, view: RunView) -> str:
    """The text of report.html."""
    title = f"{view.verdict.replace('_', ' ')}: {view.headline}"
    template = _environment().get_template("page.html.j2")
    text: str = template.render(title=title, css=_css(), body=_body(run, view))
    return text


def fragment(run: RunResult, view: RunView) -> str:
    """The report as one element, for a notebook's `_repr_html_`."""
    return f'<style>\n{_css()}</style>\n<div class="repro">\n{_body(run, view)}\n</div>'


def _body(run: RunResult, view: RunView) -> str:
    from repro.report.verdict import verdict_json

    template = _environment().get_template("report.html.j2")
    # quotes need no escape inside an element, and there are many
    values = {"pictures": pictures_of(run, view), "verdict_json": escape(verdict_json(run), quote=False)}
    values |= {"view": view, "texts": TEXTS, "sign": SIGN}
    text: str = template.render(**values, limit=0)
    room = MAX_BYTES - MARGIN - len(text.encode())
    for limit in ROW_LIMITS[:-1]:
        if sum(_size(row) for case in view.cases for row in case.rows[:limit]) < room:
            with_rows: str = template.render(**values, limit=limit)
            if len(with_rows.encode()) <= MAX_BYTES - MARGIN:
                return with_rows
    return text


def _size(row: RowStory) -> int:
    """About how many bytes one row adds."""
    return 120 + len(row.title) + sum(30 + len(label) + len(text) for label, text in row.facts)


def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("repro.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _css() -> str:
    return (resources.files("repro.report") / "templates" / "report.css").read_text(encoding="utf-8")

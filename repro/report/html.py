"""A RunView as one HTML file: no network, no script, the same bytes for the same run."""

from __future__ import annotations

from importlib import resources
from typing import Any

from harness.result import RunResult
from repro.report.pictures import pictures_of
from repro.report.view import SIGN, TEXTS, RunView

MAX_BYTES = 2_000_000
ROW_LIMITS = (50, 20, 10, 5, 2, 0)
"""Rows shown a case: the largest with which the page stays under MAX_BYTES. The page says what it leaves out."""


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
    pictures, verdict = pictures_of(run, view), verdict_json(run)
    text = ""
    for limit in ROW_LIMITS:
        text = template.render(view=view, pictures=pictures, texts=TEXTS, sign=SIGN, limit=limit, verdict_json=verdict)
        if len(text.encode()) < MAX_BYTES - 20_000:
            break
    return text


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

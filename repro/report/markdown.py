"""A RunView as Markdown: what a pull request shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from repro.report.terminal import HEAD, closing_lines, table_rows
from repro.report.view import RunView
from repro.report.words import SIGN


def summary(view: RunView) -> str:
    """The text of summary.md."""
    return "\n".join(_lines(view)) + "\n"


def _lines(view: RunView) -> Iterator[str]:
    yield f"# {SIGN[view.verdict]} {view.verdict.replace('_', ' ')}: {escaped(view.headline)}"
    yield ""
    yield from (f"- {escaped(line)}" for line in closing_lines(view, None)[1:])
    yield ""
    yield from _table(HEAD, list(table_rows(view)))
    flagged = [case for case in view.cases if case.verdict != "pass"]
    if flagged:
        yield ""
        yield "## Not green"
        yield ""
        yield from (f"- {escaped(case.name)}: {escaped(case.reason)}" for case in flagged)
    yield ""
    yield "## What was compared"
    yield ""
    yield from _table(("", ""), view.ledger)
    yield ""
    yield "Run again:"
    yield ""
    yield f"    {view.command}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"


def escaped(text: str) -> str:
    """One line in which nothing is Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", " ".join(text.split())).replace("\\<", "&lt;").replace("\\>", "&gt;")

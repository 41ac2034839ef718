"""`repro report`: a run rendered again from its run.json."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="Write the HTML report here.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the Markdown summary here.")
def report(run: Path, html: Path | None, markdown: Path | None) -> int:
    """Render RUN (a DIR.repro folder) from its run.json; without an option, the summary on stdout."""
    from repro.bundle import read_run
    from repro.report.html import page
    from repro.report.markdown import summary
    from repro.report.view import view_of

    result = read_run(run).result
    view = view_of(result)
    if html is not None:
        _write(html, page(result, view))
    if markdown is not None:
        _write(markdown, summary(view))
    if html is None and markdown is None:
        sys.stdout.write(summary(view))
    return 0


def _write(path: Path, text: str) -> None:
    """Write a file in one step: it is the old one or the new one, never a part."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        temporary = Path(folder) / path.name
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    print(path)

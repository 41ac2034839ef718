"""A RunView on a terminal: a table, one line a case, and the lines that answer what a person asks first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from repro.report.view import RunView
from repro.report.words import SIGN, explain_command

HEAD = ("", "verdict", "case", "agreement (95 %)", "floor", "predicted", "residual", "kept", "causes")
COLOUR = {"pass": "green", "drift": "red", "inconclusive": "yellow", "not_comparable": "magenta", "error": "red"}


def print_table(view: RunView, out: IO[str], verbose: bool) -> None:
    """One line a case: a rich table on a terminal (NO_COLOR honoured), aligned plain text elsewhere. `verbose` adds
    every comparison."""
    if out.isatty():
        _print_rich(view, out)
    else:
        out.writelines(line + "\n" for line in aligned([HEAD, *table_rows(view)]))
    if verbose:
        _print_outputs(view, out)


def _print_rich(view: RunView, out: IO[str]) -> None:
    """Cases under their groups, so that a name fits its column; columns of one width throughout."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=out, highlight=False)
    cells = [row[3:] for row in table_rows(view)]
    verdicts = [(f"{SIGN[case.verdict]} {case.verdict_text}", case.label) for case in view.cases]
    rows = [(*first, *rest) for first, rest in zip(verdicts, cells, strict=True)]
    head = ("verdict", *HEAD[2:])
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    groups = dict.fromkeys(case.group for case in view.cases)
    for index, group in enumerate(groups):
        if group:
            console.print(Text(f"\n{group}", style="bold"))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=index == 0, header_style="dim")
        for name, width in zip(head[:-1], widths[:-1], strict=True):
            table.add_column(name, min_width=width, no_wrap=True)
        table.add_column(head[-1], overflow="fold")
        for case, (verdict, *texts) in zip(view.cases, rows, strict=True):
            if case.group == group:
                table.add_row(Text(verdict, style=COLOUR.get(case.verdict, "yellow")), *map(Text, texts))
        console.print(table)
    console.print()


def table_rows(view: RunView) -> Iterator[tuple[str, ...]]:
    """The cells of each case under HEAD."""
    for case in view.cases:
        rate = case.rate
        cells = (rate.agreement, rate.floor_text, rate.predicted_text, rate.residual) if rate else ("-",) * 4
        yield (SIGN[case.verdict], case.verdict_text, case.name, *cells, case.kept, case.cause_text)


def _print_outputs(view: RunView, out: IO[str]) -> None:
    """Every comparison of every case, one line each."""
    for case in view.cases:
        out.write(f"\n{case.name}: {case.baseline} against {case.candidate}\n")
        rows = [(SIGN[part.verdict], part.output, part.rule, part.reason) for part in case.outputs]
        out.writelines(f"  {line}\n" for line in aligned(rows) if rows)
        out.writelines(f"  note: {note}\n" for note in case.notes)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns padded to equal width, two spaces between them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def closing_lines(view: RunView, folder: str | None) -> list[str]:
    """Verdict, first divergence, cause split, one command to go on with, and where the report is."""
    lines = [f"verdict      {view.verdict} (exit code {view.exit_code}): {view.headline}"]
    first = view.first
    if first is None:
        lines.append("first diff   none")
    elif not first.where:
        lines.append(f"first diff   {first.case}: {first.why}")
    else:
        sides = f"{first.baseline} against {first.candidate}"
        lines.append(f"first diff   {first.case}, {first.where}: {sides}: {first.why}")
    lines.append(f"causes       {view.cause_text}")
    if folder is not None:
        if first is not None and first.row is not None:
            lines.append(f"next         {explain_command(folder, first.case, first.row)}")
        lines.append(f"report       {folder}/report.html")
    return lines

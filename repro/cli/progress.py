"""Progress on stderr: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(label: str, total: int, unit: str, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield `advance(count)`. Nothing is drawn when `quiet` or when stderr is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.update(task, advance=count)


@contextmanager
def steps(quiet: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield `step(done, total, name)` for a run of named steps: a bar on a terminal, a line a step elsewhere."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _print_step
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total, name: progress.update(task, completed=done, total=total, description=name)


def _print_step(done: int, total: int, name: str) -> None:
    if name:
        print(f"[{done + 1}/{total}] {name}", file=sys.stderr, flush=True)

"""`repro explain`: one row's arithmetic, from a run folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deepinfer.errors import InputError, unknown_name

if TYPE_CHECKING:
    from harness.result import CaseResult, RunResult


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--case", "name", metavar="NAME", help="The case. Required where the run has several.")
@click.option("--row", type=int, required=True, help="The row, one that does not differ too.")
@click.option("--json", "as_json", is_flag=True, help="The row's numbers as JSON.")
def explain(run: Path, name: str | None, row: int, as_json: bool) -> int:
    """Show how one row of RUN (a DIR.repro folder) was drawn: total, limit, words, residue, tokens, counterfactual."""
    from repro.bundle import read_run

    case = _case(read_run(run).result, name)
    told = _row(case, row)
    if as_json:
        import json

        print(json.dumps(told, sort_keys=True, indent=1))
        return 0
    from repro.drift import arithmetic

    print(f"case {case.name}")
    print("\n".join(arithmetic(told, case.evidence["about"])))
    return 0


def _case(run: RunResult, name: str | None) -> CaseResult:
    explained = {case.name: case for case in run.cases if case.evidence.get("rows")}
    if not explained:
        raise InputError("no case of this run drew tokens that were explained: there is no row to show")
    if name is None and len(explained) == 1:
        return next(iter(explained.values()))
    if name in explained:
        return explained[name]
    if any(case.name == name for case in run.cases):
        raise InputError(f"case {name!r} has no explained rows: those that have are {_some(explained)}")
    if name is None:
        raise InputError(f"the run has {len(explained)} cases with rows: give --case, such as {_some(explained)}")
    raise unknown_name("case", name, list(explained)[:5] + (["..."] if len(explained) > 5 else []))


def _some(names: Any) -> str:
    return ", ".join(list(names)[:3]) + (" ..." if len(names) > 3 else "")


def _row(case: CaseResult, row: int) -> dict[str, Any]:
    """The differing row's mapping, with its counterfactuals, or the row of the table."""
    from repro.drift import table_row

    table = case.evidence["rows"]
    rows = len(table["row"])
    if not 0 <= row < rows:
        raise InputError(f"row {row} is not one of {case.name}: give 0 to {rows - 1}")
    for comparison in case.comparisons:
        for told in comparison.attribution.rows if comparison.attribution else ():
            if told["row"] == row:
                return dict(told)
    return table_row(table, row)

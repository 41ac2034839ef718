"""`repro run`: compare two sides, explain, report."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deepinfer.errors import InputError, unknown_name

if TYPE_CHECKING:
    from harness.case import Case
    from harness.explanation import Explain


@click.command()
@click.option("--suite", default="sampling", show_default=True)
@click.option("--case", "patterns", multiple=True, metavar="GLOB", help="Only cases of this name. [repeatable]")
@click.option("--baseline", metavar="SUBJECT", help="Stands on the baseline's side of every case.")
@click.option("--candidate", metavar="SUBJECT", help="Stands on the candidate's side of every case.")
@click.option("--backend", default="native", show_default=True, help="Backend of this project's samplers.")
@click.option("--outputs", metavar="NAME,...", help="Compare these outputs only.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR.repro", help="Write a run folder.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Processes; the result does not depend on it.")
@click.option("--json", "as_json", is_flag=True, help="Print verdict.json instead of the table.")
@click.option("--exit-zero", is_flag=True, help="Exit code 0 whatever the verdict.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no table.")
@click.option("-v", "--verbose", is_flag=True, help="Every comparison under its case.")
def run(
    suite: str,
    patterns: tuple[str, ...],
    baseline: str | None,
    candidate: str | None,
    backend: str,
    outputs: str | None,
    out: Path | None,
    jobs: int,
    as_json: bool,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Compare two sides on the cases of a suite, explain each difference, and write a report.

    SUBJECT is two_level, fused_sample or exact_sample (on --backend), recorded:deepinfer-0.1.0, recorded:PATH, or
    module:function (a callable that is given a dict of inputs and returns tokens).
    """
    from repro.bundle import check_target, write_folder

    if out is not None:
        check_target(out)
    sys.path.insert(0, os.getcwd())  # for module:function
    cases = _cases(suite, patterns, baseline, candidate, backend, outputs)

    from harness.parallel import run_parallel
    from repro.cli.progress import steps
    from repro.report.folder import folder_files
    from repro.report.terminal import closing_lines, print_table
    from repro.report.verdict import verdict_json
    from repro.report.view import view_of

    options = {"case": patterns, "baseline": baseline, "candidate": candidate, "backend": backend, "outputs": outputs}
    with steps(quiet) as progress:
        result = run_parallel(
            cases, jobs=jobs, explain=_explain(backend), progress=progress, suite=suite, options=options
        )
    view = view_of(result)
    if out is not None:
        write_folder(out, folder_files(result))
    if as_json:
        sys.stdout.write(verdict_json(result))
    else:
        if not quiet:
            print_table(view, sys.stdout, verbose)
        print("\n".join(closing_lines(view, None if out is None else str(out))))
    return 0 if exit_zero else result.exit_code


def _explain(backend: str) -> Explain:
    """The attribution; where no side tells its weights, the row is drawn on `backend`, or on the numpy twin where the
    baseline's sampler has no such backend."""
    from deepinfer.sampling import BACKENDS
    from repro.drift import explain

    return partial(explain, backend=backend if backend in BACKENDS["two_level"] else "reference")


def _cases(
    suite: str,
    patterns: tuple[str, ...],
    baseline: str | None,
    candidate: str | None,
    backend: str,
    outputs: str | None,
) -> list[Case]:
    from harness.cases import select
    from harness.cases import suite as cases_of

    cases = cases_of(suite, baseline=baseline, candidate=candidate, backend=backend)
    if patterns:
        chosen = {case.name for pattern in patterns for case in select(cases, pattern)}
        cases = [case for case in cases if case.name in chosen]
    return cases if outputs is None else _only(cases, outputs.split(","))


def _only(cases: list[Case], outputs: list[str]) -> list[Case]:
    """The cases with rules for `outputs` alone; those that have none of them are left out."""
    known = list(dict.fromkeys(name for case in cases for name in case.rules))
    for name in outputs:
        if name not in known:
            raise unknown_name("output", name, known)
    kept: list[Case] = []
    for case in cases:
        rules: dict[str, Any] = {name: rule for name, rule in case.rules.items() if name in outputs}
        if rules:
            kept.append(replace(case, rules=rules))
    if len(kept) < len(cases):
        print(f"repro: {len(cases) - len(kept)} cases have none of these outputs: left out", file=sys.stderr)
    if not kept:
        raise InputError(f"no case has an output of {', '.join(outputs)}: known are {', '.join(known)}")
    return kept

"""The runner on several processes: the same RunResult, sooner."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from deepinfer.errors import InputError
from harness.case import Case
from harness.result import CaseResult, RunResult
from harness.runner import Progress, run


def run_parallel(
    cases: Sequence[Case], *, jobs: int, progress: Progress | None = None, suite: str = "custom", **options: Any
) -> RunResult:
    """As `harness.runner.run`, the cases dealt out to `jobs` forked processes as they become free; the result does not
    depend on `jobs`, which is not recorded.

    Processes are forked, so that cases and subjects need not be picklable; a subject that has a GPU context open cannot
    run so: use jobs=1. Raises InputError for jobs < 1, and what `run` raises.
    """
    if jobs < 1:
        raise InputError(f"jobs is {jobs}: give an integer >= 1")
    if jobs == 1 or len(cases) < 2:
        return run(cases, progress=progress, suite=suite, **options)
    shell = run(cases[:0], suite=suite, **options)
    workers: dict[Connection, BaseProcess] = {}
    context = multiprocessing.get_context("fork")
    for _ in range(min(jobs, len(cases))):
        here, there = context.Pipe()
        process: BaseProcess = context.Process(target=_serve, args=(there, cases, suite, options), daemon=True)
        process.start()
        there.close()
        workers[here] = process
    try:
        return replace(shell, cases=tuple(_deal(workers, cases, progress)))
    finally:
        for pipe, process in workers.items():
            pipe.close()
            process.terminate()
            process.join()


def _serve(pipe: Connection, cases: Sequence[Case], suite: str, options: dict[str, Any]) -> None:
    """In a worker: run the cases whose indices arrive, until the pipe closes."""
    while True:
        try:
            index = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((index, run([cases[index]], suite=suite, beside=cases, **options).cases[0]))
        except InputError as error:
            pipe.send((index, error))


def _deal(workers: dict[Connection, BaseProcess], cases: Sequence[Case], progress: Progress | None) -> list[CaseResult]:
    results: list[CaseResult | None] = [None] * len(cases)
    todo = iter(range(len(cases)))
    busy: dict[Connection, int] = {}
    done = 0

    def give(pipe: Connection) -> None:
        index = next(todo, None)
        if index is None:
            busy.pop(pipe, None)
            return
        busy[pipe] = index
        if progress is not None:
            progress(done, len(cases), cases[index].name)
        pipe.send(index)

    for pipe in workers:
        give(pipe)
    while busy:
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)
            try:
                index, answer = ready.recv()
            except EOFError:
                name = cases[busy[ready]].name
                raise InputError(f"case {name} ended its process: run it alone with --jobs 1") from None
            if isinstance(answer, InputError):
                raise answer
            results[index] = answer
            done += 1
            give(ready)
    if progress is not None:
        progress(done, len(cases), "")
    return [result for result in results if result is not None]

"""A side against itself under other conditions: what makes nondeterminism and observer effects different from drift.

`fast` runs each side twice, its own buffers poisoned in between (harness/sides.py). `full` also moves the rows, asks in
a fresh process, there again on perturbed memory, and with the subject's capture switched off. All are bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deepinfer.errors import unknown_name
from harness.bits import comparable
from harness.case import Inputs, Outputs, Subject
from harness.compare import compare
from harness.fresh_process import Failed, NotPossible, answer_elsewhere
from harness.guard import row_count
from harness.result import Comparison, Verdict
from harness.rules import Ignore, Rule, bitwise
from harness.subject_command import CommandSubject
from harness.subject_interpreter import InterpreterSubject
from harness.subjects import RecordedSubject

CHOICES = ("fast", "full")
Ask = Callable[[Subject, Inputs, str], Outputs]
"""(subject, inputs, when it is asked, as a report says it) -> its answer, guarded."""


def check_choice(aa: str) -> None:
    """Raises InputError for a choice of checks that there is not."""
    if aa not in CHOICES:
        raise unknown_name("choice of a side's checks against itself", aa, CHOICES)


@dataclass
class Check:
    """Which conditions a side was held to, and which not, with the reason."""

    held: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def text(self) -> str:
        parts = [f"the same bits {', '.join(self.held)}" if self.held else "", *self.skipped]
        return "; ".join(part for part in parts if part) or "nothing else to hold it to"


@dataclass(frozen=True)
class Again:
    """One more answer, what it should equal bit for bit, and the cause and wording of a difference."""

    cause: str
    told: str
    expected: Outputs
    answered: Outputs
    held: str


def conditions(
    subject: Subject, inputs: Inputs, outputs: tuple[str, ...], before: Outputs, ask: Ask, check: Check
) -> Iterator[Again]:
    """Ask `subject` under every other condition that can be made for it; those that cannot are noted in `check`."""
    if isinstance(subject, RecordedSubject):
        check.skipped.append("a recording does not run")
        return
    yield from _moved_rows(subject, inputs, before, ask, check)
    yield from _elsewhere(subject, inputs, outputs, before, check)
    yield from _capture_off(subject, inputs, before, ask, check)


def _moved_rows(subject: Subject, inputs: Inputs, before: Outputs, ask: Ask, check: Check) -> Iterator[Again]:
    rows = row_count(inputs) or 0
    by = rows // 2
    by_row = {name: array for name, array in before.arrays.items() if array.ndim and len(array) == rows}
    if not by or not by_row:
        check.skipped.append("rows not moved: there is one" if rows == 1 else "rows not moved: no output is by row")
        return
    answered = ask(subject, _rolled(inputs, rows, by), f" with its rows moved by {by}")
    back = _rolled(answered.arrays, rows, -by)
    found = Outputs({name: array for name, array in back.items() if name in by_row or len(array) == rows})
    told = f"depends on a row's place in the batch (rows moved by {by})"
    yield Again("batch-global statistic", told, Outputs(by_row), found, f"with rows moved by {by}")


def _rolled(arrays: Mapping[str, Any], rows: int, by: int) -> dict[str, Any]:
    """Every array whose first dimension is the row count, moved on by `by` rows, the last ones to the front."""
    moved = dict(arrays)
    for name, value in arrays.items():
        if isinstance(value, np.ndarray) and value.ndim and len(value) == rows:
            moved[name] = np.roll(value, by, axis=0)
    return moved


def _elsewhere(
    subject: Subject, inputs: Inputs, outputs: tuple[str, ...], before: Outputs, check: Check
) -> Iterator[Again]:
    if isinstance(subject, (InterpreterSubject, CommandSubject)):
        check.skipped.append("every answer of it is a fresh process")
        return
    try:
        plain, perturbed = answer_elsewhere(subject, inputs, outputs)
    except NotPossible as error:
        check.skipped.append(f"not asked in a fresh process: {error}")
        return
    yield Again("run-to-run", "answers otherwise in a fresh process", before, plain, "in a fresh process")
    if perturbed is None:
        check.skipped.append("memory not perturbed: this C library cannot")
        return
    told = "reads memory that it never wrote (unset memory filled with a pattern)"
    yield Again("uninitialised or stale data", told, plain, perturbed, "on perturbed memory")


def _capture_off(subject: Subject, inputs: Inputs, before: Outputs, ask: Ask, check: Check) -> Iterator[Again]:
    quiet: Subject | None = getattr(subject, "quiet", None)
    if quiet is None:
        check.skipped.append("no capture to switch off")
        return
    answered = ask(quiet, inputs, " with its capture off")
    shared = {name: array for name, array in before.arrays.items() if name in answered.arrays}
    told = "answers otherwise when nothing is captured"
    yield Again("observer effect", told, Outputs(shared), answered, f"with capture off ({', '.join(shared)})")


def differences(rules: Mapping[str, Rule], first: Outputs, second: Outputs) -> Iterator[Comparison]:
    """Every output, ignored ones apart, that is not bit for bit the same in two answers of one subject."""
    for name in sorted({*first.arrays, *second.arrays}):
        pair = first.arrays.get(name), second.arrays.get(name)
        if isinstance(rules.get(name), Ignore) or not all(side is None or comparable(side.dtype) for side in pair):
            continue
        comparison = compare(bitwise(), *pair, output=name)
        if comparison.verdict not in (Verdict.PASS, Verdict.EMPTY):
            yield comparison


__all__ = ["Again", "Ask", "Check", "Failed", "check_choice", "conditions", "differences"]

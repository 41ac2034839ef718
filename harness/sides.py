"""Asks the sides of a case, each on its own copies, and each against itself before anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from harness.case import Array, Case, Inputs, Outputs, Subject
from harness.guard import copies, first_rows, hash_inputs, mutated, overlapping, own, row_count
from harness.observers import Check, Failed, conditions, differences
from harness.patterns import asked
from harness.recording_file import one_line
from harness.result import Comparison, Verdict


@dataclass
class Stopped(Exception):
    """The case ends here, with this verdict."""

    verdict: Verdict
    reason: str
    comparisons: tuple[Comparison, ...] = ()


@dataclass
class Sides:
    """Asks the subjects of one case, and remembers the buffers that they handed back, and what was checked."""

    case: Case
    inputs: Inputs
    hashes: Mapping[str, str]
    aa: str = "fast"
    buffers: list[tuple[str, Outputs]] = field(default_factory=list)
    checked: dict[str, Check] = field(default_factory=dict)

    def answer(self, side: str, subject: Subject) -> Outputs:
        """The subject's answer, once it has given the same bits twice, and with aa="full" under every other condition
        that harness.observers knows. Raises Stopped where the case ends."""
        first = self._ask(side, subject, self.inputs)
        part = self._part
        before = first if part is self.inputs else self._ask(side, subject, part)
        self._same(side, "run-to-run", "differs from itself", before, self._ask(side, subject, part))
        if self.aa == "full":
            self._hold(side, subject, part, before)
        return first

    def _hold(self, side: str, subject: Subject, part: Inputs, before: Outputs) -> None:
        """Hold a side to its answer under the other conditions. Raises Stopped at the first that changes it."""
        check = self.checked[side] = Check()
        names = self._asked(subject)
        try:
            for again in conditions(subject, part, names, before, lambda *asked: self._ask(side, *asked), check):
                self._same(side, again.cause, again.told, again.expected, again.answered)
                check.held.append(again.held)
        except Failed as error:
            raise Stopped(Verdict.ERROR, f"the {side} failed in a fresh process: {error}") from None

    def reference(self) -> Mapping[str, Array]:
        """What the case's fp64 reference answers; nothing where it has none."""
        return {} if self.case.reference is None else self._ask("reference", self.case.reference, self.inputs).arrays

    def notes(self) -> tuple[str, ...]:
        rows = "the whole case" if self._part is self.inputs else f"the first {self.case.self_rows} rows"
        told = [f"each side gave the same bits twice on {rows}"]
        told += [f"{side}: {check.text()}" for side, check in self.checked.items()]
        return tuple(told)

    @property
    def _part(self) -> Inputs:
        """The inputs of the runs of a side against itself."""
        rows = self.case.self_rows
        return self.inputs if rows is None or rows >= (row_count(self.inputs) or 0) else first_rows(self.inputs, rows)

    def _asked(self, subject: Subject) -> tuple[str, ...]:
        return asked(self.case.rules, getattr(subject, "answers", ()))

    def _same(self, side: str, cause: str, told: str, first: Outputs, second: Outputs) -> None:
        differing = tuple(differences(self.case.rules, first, second))
        if differing:
            named = tuple(replace(one, rule=f"bitwise, {side} against itself") for one in differing)
            reason = f"{cause}: the {side} {told}: {named[0].output}: {named[0].reason}"
            raise Stopped(Verdict.DRIFT, reason, named)

    def _ask(self, side: str, subject: Subject, inputs: Inputs, when: str = "") -> Outputs:
        """One answer, in memory of our own. The buffers that came back are poisoned, so that one which is handed out
        again unwritten shows as a difference; one of the other side ends the case."""
        handed = copies(inputs)
        hashes = self.hashes if inputs is self.inputs else hash_inputs(inputs)
        try:
            answered = subject(handed, self._asked(subject))
            _check_answer(answered)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Stopped(Verdict.ERROR, f"the {side} failed{when}: {one_line(error)}") from error
        changed = mutated(handed, inputs, hashes)
        if changed:
            raise Stopped(Verdict.NOT_COMPARABLE, f"the {side} wrote to its input {changed!r}")
        for owner, earlier in self.buffers:
            shared = overlapping(earlier, answered)
            if shared and owner != side:
                raise Stopped(Verdict.NOT_COMPARABLE, f"the {side}'s {shared!r} lies in a buffer of the {owner}")
        self.buffers.append((side, replace(answered, evidence=None)))
        return own(answered)


def _check_answer(answered: object) -> None:
    if not isinstance(answered, Outputs):
        raise TypeError(f"a subject returned a {type(answered).__name__}: give harness.case.Outputs")
    for name, array in answered.arrays.items():
        if not isinstance(array, np.ndarray):
            raise TypeError(f"output {name!r} is a {type(array).__name__}: give a numpy array")

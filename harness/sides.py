"""Asks the two sides of a case, each on its own copies, and each against itself before anything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from harness.bits import comparable
from harness.case import Case, Inputs, Outputs, Subject
from harness.compare import compare
from harness.guard import copies, first_rows, hash_inputs, mutated, overlapping, own, row_count
from harness.recording_file import one_line
from harness.result import Comparison, Verdict
from harness.rules import Ignore, bitwise


@dataclass
class Stopped(Exception):  # noqa: N818 - a verdict, not an error
    """The case ends here, with this verdict."""

    verdict: Verdict
    reason: str
    comparisons: tuple[Comparison, ...] = ()


@dataclass
class Sides:
    """Asks both subjects of one case, and remembers the buffers that they handed back."""

    case: Case
    inputs: Inputs
    hashes: Mapping[str, str]
    buffers: list[tuple[str, Outputs]] = field(default_factory=list)

    def answer(self, side: str, subject: Subject) -> Outputs:
        """The subject's answer, once it has given the same bits twice. Raises Stopped where the case ends."""
        first = self._ask(side, subject, self.inputs)
        if self._whole:
            pair = first, self._ask(side, subject, self.inputs)
        else:
            part = first_rows(self.inputs, self.case.self_rows or 0)
            pair = self._ask(side, subject, part), self._ask(side, subject, part)
        differing = tuple(_differences(self.case, *pair))
        if differing:
            named = tuple(replace(one, rule=f"bitwise, {side} against itself") for one in differing)
            reason = f"run-to-run: the {side} differs from itself: {named[0].output}: {named[0].reason}"
            raise Stopped(Verdict.DRIFT, reason, named)
        return first

    def note(self) -> str:
        rows = "the whole case" if self._whole else f"the first {self.case.self_rows} rows"
        return f"each side gave the same bits twice on {rows}"

    @property
    def _whole(self) -> bool:
        return self.case.self_rows is None or self.case.self_rows >= (row_count(self.inputs) or 0)

    def _ask(self, side: str, subject: Subject, inputs: Inputs) -> Outputs:
        """One answer, in memory of our own. The buffers that came back are poisoned, so that one which is handed out
        again unwritten shows as a difference; one of the other side ends the case."""
        handed = copies(inputs)
        hashes = self.hashes if inputs is self.inputs else hash_inputs(inputs)
        asked = tuple(name for name, rule in self.case.rules.items() if not isinstance(rule, Ignore))
        try:
            answered = subject(handed, asked)
            _check_answer(answered)
        except (Exception, SystemExit) as error:
            raise Stopped(Verdict.ERROR, f"the {side} failed: {one_line(error)}") from error
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


def _differences(case: Case, first: Outputs, second: Outputs) -> Iterator[Comparison]:
    """Every output, ignored ones apart, that is not bit for bit what the same subject answered before."""
    for name in sorted({*first.arrays, *second.arrays}):
        pair = first.arrays.get(name), second.arrays.get(name)
        if isinstance(case.rules.get(name), Ignore) or not all(side is None or comparable(side.dtype) for side in pair):
            continue
        comparison = compare(bitwise(), *pair, output=name)
        if comparison.verdict not in (Verdict.PASS, Verdict.EMPTY):
            yield comparison

"""Canaries: before a green is believed, each rule of the case is attacked on the case's own data, and must refuse.

`fast` attacks each rule with the smallest change that it must refuse, on as many rows as fit SAMPLE elements where the
rule is one of elements, and drops its output; a drawn output is also drawn again with the random stream moved by a
word. `full` does so on all rows and adds zeros, moved rows, a flipped sign and another case's output. A rule that stays
green is a configuration error.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError, unknown_name
from deepinfer.sampling import SampleResult
from harness.attacks import Attack, Side, Target, first_attacks, more_attacks, most_under
from harness.case import Case, Floor
from harness.explanation import with_attribution
from harness.guard import copies, hash_inputs
from harness.nested import LENGTHS
from harness.patterns import asked
from harness.redraw import redrawn
from harness.result import Comparison, Verdict
from harness.rules import Agreement, Bitwise, SameSet, Tolerance, Ulp

Array = NDArray[Any]
MODES = ("fast", "full", "off")
SAMPLE = 1 << 14
"""Elements that a fast attack looks at."""
ROWS_AT_ONCE = 64
INERT_SHARE = 0.1
"""Where a stream moved by a word breaks no more than this share of the rows that agree (greedy rows, accepted drafts),
their agreement says nothing about the stream whatever the floor: that is noted, not refused."""


@dataclass(frozen=True)
class Green:
    """One output that passed: what was compared, how it is compared again (`again`: baseline, candidate, rows), and the
    result that it came from."""

    target: Target
    again: Callable[[Side, Side, slice], Comparison]
    comparison: Comparison
    floor: Floor | None = None


@dataclass
class Canaries:
    """The canaries of one run. `beside` are its cases, from which `full` takes another case's output."""

    mode: str
    beside: Sequence[Case] = ()

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise unknown_name("choice of canaries", self.mode, MODES)

    def attack(self, case: Case, hashes: Mapping[str, str], green: Sequence[Green], results: tuple[Any, Any]) -> str:
        """Attack every output of a case that passed; `hashes` are those of its inputs, `results` both sides' evidence.
        Returns the note for the case.

        Raises InputError for the first attack that stays green; where the case reports a finding, it is noted.
        """
        if self.mode == "off":
            return "canaries: off"
        sent = 0
        told = ""
        other = another(case, hashes, self.beside) if self.mode == "full" else {}
        for one in green:
            made = self._sent(one, other)
            moved = _stream_attack(one.target, results)
            if moved is not None and _inert(one.target, moved):
                told += f"; {one.target.name} hardly depends on its random stream: a shift of it is not seen here"
            elif moved is not None:
                made.append((moved, one.again(one.target.baseline, moved.candidate, slice(None))))
            for attack, found in made:
                sent += 1
                if found.verdict is not Verdict.PASS:
                    continue
                survived = f"{found.rule} of {one.target.name!r} stays green when {attack.name}"
                if not case.finding:
                    raise InputError(
                        f"canary: {survived}: it cannot fail on this data; give a tighter rule or floor, or more"
                        " telling inputs"
                    )
                told += f"; {survived}: {case.finding}"
        outcome = "each refused" if "stays green" not in told else "the others refused"
        return f"canaries {self.mode}: {sent} attacks on {len(green)} rules, {outcome}{told}"

    def _sent(self, one: Green, other: Side) -> list[tuple[Attack, Comparison]]:
        """Every attack on one output, its stream apart, with what its rule said."""
        target, rows = (_sample(one) if self.mode == "fast" else None) or (one.target, slice(None))
        made = [*first_attacks(target)]
        if self.mode == "full":
            made += more_attacks(target, other.get(target.name))
        sent = [(attack, one.again(target.baseline, attack.candidate, rows)) for attack in made]
        return [*sent, *_attacked_residual(one)]


def another(case: Case, hashes: Mapping[str, str], beside: Sequence[Case]) -> Side:
    """What the baseline of another case answers for outputs of these names, nothing where no case fits.

    Of the run's cases, those half, a third and a fifth of the run further on and the next three are looked at, so that
    the choice depends on the cases alone. One whose largest input is also an input of this one is no other case.
    """
    names = [one.name for one in beside]
    if case.name not in names:
        return {}
    at, count = names.index(case.name), len(names)
    for step in dict.fromkeys((count // 2, count // 3, count // 5, 1, 2, 3)):
        one = beside[(at + step) % count]
        if one.name == case.name:
            continue
        inputs = one.inputs()
        largest = max(inputs, key=lambda name: np.asarray(inputs[name]).nbytes, default=None)
        if largest is None or hash_inputs(inputs)[largest] in hashes.values():
            continue
        with contextlib.suppress(Exception):  # a side that fails shows in its own case
            return one.baseline(copies(inputs), asked(case.rules, ())).arrays
    return {}


def seed_of(case: str, output: str) -> int:
    """Where a case's output is attacked: another place for each, the same in every run."""
    return zlib.crc32(f"{case}\0{output}".encode())


def _sample(one: Green) -> tuple[Target, slice] | None:
    """The first rows that fit SAMPLE elements, where the rule passes them by themselves; None: use all rows."""
    target = one.target
    values = target.values
    if not isinstance(target.rule, (Bitwise, Ulp, Tolerance, SameSet)) or values.size <= SAMPLE:
        return None
    if target.name + LENGTHS in target.candidate:
        return None
    rows = slice(0, max(1, SAMPLE * len(values) // values.size))
    first = replace(
        target,
        baseline={name: array[rows] for name, array in target.baseline.items()},
        candidate={name: array[rows] for name, array in target.candidate.items()},
        proven=None if target.proven is None else target.proven[rows],
    )
    try:
        control = one.again(first.baseline, first.candidate, rows)
    except InputError:  # a tolerance that these rows alone cannot carry
        return None
    return (first, rows) if control.verdict is Verdict.PASS else None


def _attacked_residual(one: Green) -> Iterator[tuple[Attack, Comparison]]:
    """As many more rows left unexplained as miss the residual floor; nothing where the case has no such floor."""
    if not isinstance(one.target.rule, Agreement) or one.floor is None or one.floor.residual == 0:
        return
    found, rows = one.comparison, one.comparison.rows
    before = found.differing if found.attribution is None else found.attribution.unexplained
    more = rows - before - min(most_under(one.floor.residual, rows), rows - before)
    attack = Attack("rows are left unexplained until the residual floor is missed", {})
    if found.attribution is None:
        yield attack, with_attribution(replace(found, differing=before + more), None, one.floor)
    else:
        attribution = replace(found.attribution, unexplained=before + more)
        yield attack, with_attribution(found, attribution, one.floor)


def _stream_attack(target: Target, results: tuple[Any, Any]) -> Attack | None:
    """The drawn output with its stream moved by a word, where either side tells its weights: in the first rows, as many
    as it takes to miss the floor."""
    values = target.values
    if not isinstance(target.rule, (Agreement, Bitwise)) or values.dtype.kind != "i" or values.ndim != 1:
        return None
    floor = 1.0 if isinstance(target.rule, Bitwise) else target.floor
    told = [one for one in reversed(results) if isinstance(one, SampleResult) and _holds(target, one)]
    if floor is None or not told:
        return None
    baseline, moved = target.baseline[target.name], values.copy()
    for first in range(0, len(values), ROWS_AT_ONCE):
        rows = np.arange(first, min(first + ROWS_AT_ONCE, len(values)))
        moved[rows] = redrawn(told[0], rows, 1).astype(values.dtype)
        if int((moved == baseline).sum()) <= most_under(floor, len(values)):
            break
    return Attack("its random stream is moved by a word", {target.name: moved})


def _holds(target: Target, result: SampleResult) -> bool:
    """Whether one side's output is what this result drew, and its weights are there to draw from again."""
    if result.record.weights is None or not (result.record.word_count > 0).any():
        return False
    sides: tuple[Mapping[str, Array], ...] = (target.baseline, target.candidate)
    return any(np.array_equal(side[target.name], result.tokens) for side in sides)


def _inert(target: Target, attack: Attack) -> bool:
    """Whether the attack breaks next to none of the rows that agree: too few to ask any floor to see it."""
    baseline = target.baseline[target.name]
    equal = baseline == target.values
    broken = equal & (attack.candidate[target.name] != baseline)
    return bool(broken.sum() <= INERT_SHARE * equal.sum())

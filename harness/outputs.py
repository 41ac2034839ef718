"""Every output of two answered sides under its rule, the drawn one first, as its explanation may prove sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np

from deepinfer.errors import InputError
from harness import compare as comparing
from harness import ragged
from harness.attacks import Side, Target
from harness.canaries import Green, seed_of
from harness.case import Array, Case, Inputs, Outputs
from harness.closeness import with_closeness
from harness.explanation import Explain, Explained, Mask, explained, flags, with_attribution
from harness.nested import LENGTHS
from harness.patterns import resolved
from harness.recording_file import one_line
from harness.result import Comparison, Verdict, worst
from harness.rules import Agreement, Ignore, OrderedSet, Rule


@dataclass(frozen=True)
class Answered:
    """A case with what its sides answered; `reference` are its fp64 arrays, where it has any."""

    case: Case
    inputs: Inputs
    baseline: Outputs
    candidate: Outputs
    reference: Mapping[str, Array]
    today: date


@dataclass(frozen=True)
class Compared:
    """What came of it; `green` are the outputs that passed, for the canaries."""

    comparisons: tuple[Comparison, ...]
    verdict: Verdict
    reason: str
    notes: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    green: tuple[Green, ...] = ()


def compare_outputs(answered: Answered, explain: Explain | None) -> Compared:
    """Compare, explain and judge. Raises InputError where rules or floors do not fit the outputs."""
    both = {*answered.baseline.arrays, *answered.candidate.arrays}
    rules = resolved(answered.case.rules, both)
    comparers = {name: _Comparer(answered, rules, name) for name in _names(rules, both)}
    drawn = _drawn_output(rules)
    found: dict[str, Comparison] = {}
    told = Explained()
    failure = None
    for name in sorted(comparers, key=lambda name: name != drawn):
        one = comparers[name]
        found[name] = one.compared(told.proven)
        if name == drawn and found[name].rate is not None:
            assert answered.case.floor is not None
            if explain is not None:
                case = replace(answered.case, rules=rules)
                try:
                    sides = answered.inputs, answered.baseline, answered.candidate
                    told = explained(explain, case, *sides, one.rows_differ())
                except Exception as error:
                    failure = Verdict.ERROR, f"the explanation failed: {one_line(error)}"
            found[name] = with_attribution(found[name], told.attribution, answered.case.floor)
    comparisons = tuple(found[name] for name in comparers)
    verdict, reason = failure or _verdict(rules, comparisons)
    notes = (*(flags(found[drawn]) if drawn in found else ()), *_without_reference(answered, rules))
    green = tuple(comparers[name].green(one, told.proven) for name, one in found.items() if one.verdict is Verdict.PASS)
    return Compared(comparisons, verdict, reason, notes, told.evidence, green)


@dataclass(frozen=True)
class _Comparer:
    """One output with everything that its rule goes by."""

    answered: Answered
    rules: Mapping[str, Rule]
    name: str

    @property
    def rule(self) -> Rule | None:
        return self.rules.get(self.name)

    @property
    def ragged(self) -> bool:
        return ragged.is_ragged(self.name, self.rules, self.answered.baseline.arrays, self.answered.candidate.arrays)

    def compared(self, proven: Mask | None) -> Comparison:
        baseline, candidate = self.answered.baseline.arrays, self.answered.candidate.arrays
        found = self.again(baseline, candidate, slice(None), proven)
        reference = self.answered.reference.get(self.name)
        if reference is None or not found.elements or self.ragged:
            return found
        return with_closeness(found, baseline[self.name], candidate[self.name], reference)

    def again(self, baseline: Side, candidate: Side, rows: slice, proven: Mask | None) -> Comparison:
        """Compare two sides that are these rows of the case."""
        case, today = self.answered.case, self.answered.today
        clusters = _cut(self._clusters(), rows)
        if self.ragged:
            return comparing.compare_ragged(
                self.rule, baseline, candidate, case.floor, output=self.name, clusters=clusters, today=today
            )
        return comparing.compare(
            self.rule,
            baseline.get(self.name),
            candidate.get(self.name),
            case.floor,
            output=self.name,
            clusters=clusters,
            proven=_cut(proven, rows),
            key=_cut(self._key(), rows),
            today=today,
        )

    def rows_differ(self) -> Mask:
        baseline, candidate = self.answered.baseline.arrays, self.answered.candidate.arrays
        if not self.ragged:
            return comparing.rows_differ(baseline[self.name], candidate[self.name])
        a, b = ragged.read_rows(self.name, baseline), ragged.read_rows(self.name, candidate)
        assert not isinstance(a, str) and not isinstance(b, str)
        return ragged.rows_differ(a, b)

    def green(self, comparison: Comparison, proven: Mask | None) -> Green:
        assert self.rule is not None
        floor = self.answered.case.floor
        target = Target(
            name=self.name,
            rule=self.rule,
            baseline=self._side(self.answered.baseline.arrays),
            candidate=self._side(self.answered.candidate.arrays),
            seed=seed_of(self.answered.case.name, self.name),
            floor=None if floor is None or (floor.raw == 0 and floor.residual > 0) else floor.raw,
            proven=proven,
            key=self._key(),
        )
        return Green(target, lambda a, b, rows: self.again(a, b, rows, proven), comparison, floor)

    def _side(self, arrays: Mapping[str, Array]) -> Side:
        """This output alone; rows of unequal length at one width for both sides."""
        if not self.ragged:
            return {self.name: arrays[self.name]}
        a = ragged.read_rows(self.name, self.answered.baseline.arrays)
        b = ragged.read_rows(self.name, self.answered.candidate.arrays)
        assert not isinstance(a, str) and not isinstance(b, str)
        rows = ragged.widened(a, b)[arrays is self.answered.candidate.arrays]
        return {self.name: rows.values, self.name + LENGTHS: rows.lengths}

    def _clusters(self) -> Array | None:
        if not isinstance(self.rule, Agreement) or self.rule.cluster is None:
            return None
        inputs = self.answered.inputs
        if self.rule.cluster not in inputs:
            there = ", ".join(sorted(inputs))
            raise InputError(f"{self.rule.text}: the inputs have no {self.rule.cluster!r}; they are {there}")
        return np.asarray(inputs[self.rule.cluster])

    def _key(self) -> Array | None:
        """The array that an ordered_set goes by: an input, else an output of the baseline."""
        if not isinstance(self.rule, OrderedSet) or self.rule.key is None:
            return None
        given = self.answered.inputs.get(self.rule.key)
        return given if isinstance(given, np.ndarray) else self.answered.baseline.arrays.get(self.rule.key)


def _cut(array: Any, rows: slice) -> Any:
    return None if array is None else array[rows]


def _names(rules: Mapping[str, Rule], both: set[str]) -> list[str]:
    """Every output under a rule or answered, in the order of the rules; lengths go with their rows."""
    names = [*rules, *sorted(both - {*rules})]
    return [name for name in names if name in rules or name.removesuffix(LENGTHS) not in both - {name}]


def _drawn_output(rules: Mapping[str, Rule]) -> str | None:
    """The output under agreement; a case has one, as one attribution explains it."""
    drawn = [name for name, rule in rules.items() if isinstance(rule, Agreement)]
    if len(drawn) > 1:
        raise InputError(f"agreement rules for {drawn[0]!r} and {drawn[1]!r}: give a case one drawn output")
    return drawn[0] if drawn else None


def _without_reference(answered: Answered, rules: Mapping[str, Rule]) -> list[str]:
    lacking = [name for name in rules if name not in answered.reference]
    return [f"without an fp64 reference: {', '.join(lacking)}"] if answered.reference and lacking else []


def _verdict(rules: Mapping[str, Rule], comparisons: tuple[Comparison, ...]) -> tuple[Verdict, str]:
    """The worst comparison and its reason. An `ignore` in force does not count: nothing was compared."""
    counted = [one for one in comparisons if not _is_ignored(rules, one)]
    verdict = worst([one.verdict for one in counted])
    if not counted:
        return verdict, "nothing was compared: there is no output, or each is ignored"
    if verdict is Verdict.PASS:
        return verdict, f"{len(counted)} outputs compared, {sum(one.elements for one in counted)} elements"
    reasons = [f"{one.output}: {one.reason}" for one in counted if one.verdict is verdict]
    return verdict, reasons[0] + (f" (and {len(reasons) - 1} more outputs)" if len(reasons) > 1 else "")


def _is_ignored(rules: Mapping[str, Rule], comparison: Comparison) -> bool:
    return isinstance(rules.get(comparison.output), Ignore) and comparison.verdict is Verdict.EMPTY

"""A policy applied to a suite: the cases with the policy's floors, and what is wrong with it before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from deepinfer.errors import InputError
from harness.agreement import is_rate
from harness.case import Case, Floor
from harness.cases import select
from harness.guard import row_count
from harness.planning import check_provable
from harness.policy import Entry, Policy
from harness.rules import Agreement, SameSet
from harness.sequential import ALPHA, log_quotient


@dataclass(frozen=True)
class Gated:
    """The cases of a gate in the suite's order, and by name: the entry that speaks of it, if one does."""

    cases: tuple[Case, ...]
    entries: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def report_only(self) -> dict[str, str]:
        """The cases that leave the verdict alone, with the reason."""
        return {name: entry.reason for name, entry in self.entries.items() if entry.report_only}

    @property
    def floors(self) -> dict[str, Floor]:
        """The floors of the cases that count."""
        found = {case.name: case.floor for case in self.cases if is_drawn(case) and case.name not in self.report_only}
        return {name: floor for name, floor in found.items() if floor is not None}


def is_drawn(case: Case) -> bool:
    """Whether the case has an output under agreement."""
    return any(isinstance(rule, Agreement) for rule in case.rules.values())


def gated(policy: Policy, suite: Iterable[Case]) -> Gated:
    """The cases that the policy runs, with its floors. Raises InputError where policy and suite do not fit."""
    known = list(suite)
    chosen = {case.name for pattern in policy.cases for case in _matching(known, pattern, policy.path)}
    cases = [case for case in known if case.name in chosen]
    entries: dict[str, Entry] = {}
    for entry in policy.entries:
        where = f"{policy.path}:{entry.line}"
        for pattern in entry.cases:
            for case in _matching(cases, pattern, where):
                other = entries.setdefault(case.name, entry)
                if other is not entry:
                    raise InputError(f"{where}: case {case.name} has a floor in line {other.line} already: give it one")
        _check_entry(entry, [case for case in cases if entries.get(case.name) is entry], where)
    lacking = [case.name for case in cases if is_drawn(case) and case.name not in entries]
    if lacking:
        more = f" (and {len(lacking) - 1} more cases)" if len(lacking) > 1 else ""
        raise InputError(f"{policy.path} has no floor for {lacking[0]}{more}: give a [[floor]] whose cases match it")
    return Gated(tuple(_with_floor(case, entries.get(case.name)) for case in cases), entries)


def check_rows(policy: Policy, gate: Gated, until_decided: bool = False) -> None:
    """Raise InputError for the first floor that its case's rows cannot prove, whatever they answer.

    Reads the inputs of every case with such a floor. Rows in clusters count as one row a cluster.
    """
    for case in gate.cases:
        floor = gate.floors.get(case.name)
        asked = [share for share in (floor.raw, floor.residual) if is_rate(share)] if floor else []
        if not asked:
            continue
        try:
            rows = _independent_rows(case)
            if until_decided and case.grow is not None:
                _check_growing(rows, max(asked), policy.max_rows)
            else:
                check_provable(rows, max(asked))
        except InputError as error:
            line = gate.entries[case.name].line
            hint = "or set report_only = true with a reason"
            raise InputError(f"{policy.path}:{line}: case {case.name}: {error}, {hint}") from None


def _matching(cases: list[Case], pattern: str, where: str) -> list[Case]:
    try:
        return select(cases, pattern)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _check_entry(entry: Entry, cases: list[Case], where: str) -> None:
    drawn = [case for case in cases if is_drawn(case)]
    if entry.raw is not None and not drawn:
        raise InputError(f"{where}: raw = {entry.raw}, but none of {len(cases)} cases has a drawn output: leave it out")
    if entry.raw is None and drawn and not entry.report_only:
        raise InputError(f"{where}: no raw floor for {drawn[0].name}, whose output is drawn: give raw = SHARE")
    sets = [case for case in cases if any(isinstance(rule, SameSet) for rule in case.rules.values())]
    if entry.same_set is not None and not sets:
        raise InputError(f"{where}: same_set = {entry.same_set}, but no case has that rule: leave it out")


def _with_floor(case: Case, entry: Entry | None) -> Case:
    """The case with the policy's floors; where its own are others, with a note."""
    if entry is None:
        return case
    rules = dict(case.rules)
    notes = list(case.notes)
    if entry.same_set is not None:
        for name, rule in case.rules.items():
            if isinstance(rule, SameSet) and rule.floor != entry.same_set:
                rules[name] = SameSet(entry.same_set)
                notes.append(_differs(f"floor of {name}", entry.same_set, rule.floor))
    floor = case.floor
    if is_drawn(case) and entry.raw is not None:
        own, floor = case.floor, Floor(entry.raw, entry.residual)
        if own is not None and own.raw != floor.raw:
            notes.append(_differs("raw floor", floor.raw, own.raw))
        if own is not None and own.residual != floor.residual:
            notes.append(_differs("residual floor", floor.residual, own.residual))
    return replace(case, rules=rules, floor=floor, notes=tuple(notes))


def _differs(what: str, policy: float, own: float) -> str:
    return f"{what} {100 * policy:.6g} % by the policy, {100 * own:.6g} % in the case"


def _independent_rows(case: Case) -> int:
    inputs = case.inputs()
    rule = next(rule for rule in case.rules.values() if isinstance(rule, Agreement))
    labels = inputs.get(rule.cluster) if rule.cluster is not None else None
    return row_count(inputs) or 0 if labels is None else len(np.unique(labels))


def _check_growing(rows: int, floor: float, most_rows: int) -> None:
    """As check_provable, for a case whose rows double until it is decided."""
    grown = rows
    while 0 < 2 * grown <= most_rows:
        grown *= 2
    if grown == 0 or log_quotient(grown, grown, floor) < -math.log(ALPHA):
        raise InputError(f"{grown} rows, all equal, do not prove {100 * floor:.6g} % at every look: raise max_rows")

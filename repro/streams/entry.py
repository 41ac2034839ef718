"""What is known of one random stream: the facts it needs, how it numbers its words, and how sure that is."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from deepinfer.errors import InputError, unknown_name
from repro.streams.base import Stream

VERIFIED, UNVERIFIED = "verified", "unverified"


@dataclass(frozen=True)
class Fact:
    """One thing that a stream's words depend on, and where a person finds it.

    With `choices` the value is one of them; else it is an integer from `least` to `most`. A fact `per_row` has a value
    for each row, or one for all.
    """

    name: str
    meaning: str
    where: str
    least: int = 0
    most: int = 2**64 - 1
    choices: tuple[Any, ...] = ()
    per_row: bool = False

    def check(self, value: Any) -> Any:
        """`value` in canonical form. Raises InputError if it is none of the allowed ones."""
        if self.choices:
            for choice in self.choices:
                if type(value) is type(choice) and value == choice:
                    return choice
            raise InputError(f"{self.name} is {value!r}: give one of {', '.join(map(repr, self.choices))}")
        try:
            number = operator.index(value)
        except TypeError:
            number = None
        if number is None or isinstance(value, bool) or not self.least <= number <= self.most:
            raise InputError(f"{self.name} is {value!r}: give an integer from {self.least} to {self.most}")
        return number


@dataclass(frozen=True)
class Entry:
    """One stream of one engine. `versions` are those whose rules were read or reproduced; no other is assumed.

    `make` is "module:class" of the Stream, whose fields are the facts. `batch` and `gpu` say what a larger batch and
    another GPU change. `status` is VERIFIED where `evidence` names outputs of the engine's own code that were
    reproduced, else UNVERIFIED: written from its source or its documentation.
    """

    engine: str
    versions: tuple[str, ...]
    make: str
    facts: tuple[Fact, ...]
    key: str
    counter: str
    offset_unit: str
    float_map: str
    batch: str
    gpu: str
    status: str
    evidence: str
    sources: tuple[str, ...]

    def build(self, version: str, facts: Mapping[str, Any]) -> Stream:
        """The stream that `facts` name. Raises InputError for a version, a fact or a value that is not known."""
        check_version(self.engine, version, self.versions)
        values = check_facts(self.engine, self.facts, facts)
        module, _, name = self.make.partition(":")
        made = getattr(import_module(module), name)(**values)
        assert isinstance(made, Stream)
        return made


def check_facts(engine: str, wanted: tuple[Fact, ...], given: Mapping[str, Any], rows: int = 1) -> dict[str, Any]:
    """Every wanted fact, checked; those per row as a list of `rows` values. Raises InputError for one that is missing,
    unknown, out of its range or of another number of rows."""
    names = [fact.name for fact in wanted]
    for name in given:
        if name not in names:
            raise unknown_name(f"fact of {engine}", name, names or ["none"])
    for fact in wanted:
        if given.get(fact.name) is None:
            raise InputError(f"{engine} needs {fact.name} ({fact.meaning}): find it in {fact.where}")
    return {fact.name: _checked(fact, given[fact.name], rows) for fact in wanted}


def _checked(fact: Fact, value: Any, rows: int) -> Any:
    if not fact.per_row:
        return fact.check(value)
    values = value.tolist() if isinstance(value, np.ndarray) else value
    listed = list(values) if isinstance(values, (list, tuple)) else [values] * rows
    if len(listed) != rows:
        raise InputError(f"{fact.name} has {len(listed)} values: give one, or one for each of the {rows} rows")
    return [fact.check(one) for one in listed]


def check_version(engine: str, version: str, known: tuple[str, ...]) -> str:
    """`version` without a local part (+cu130), if it is a known one."""
    plain = str(version).partition("+")[0]
    if plain not in known:
        raise InputError(
            f"{engine} {version}: the rules of this version were not read; known are {', '.join(known)}; "
            "give one of these if you know that nothing changed since"
        )
    return plain

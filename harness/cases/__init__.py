"""The suites: which inputs, which two sides, which rules and floors."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from deepinfer.errors import InputError, unknown_name
from harness.case import Case
from harness.cases import sampling

SUITES = ("sampling",)


def suite(
    name: str, *, baseline: str | None = None, candidate: str | None = None, backend: str = "native"
) -> list[Case]:
    """The cases of a suite. `baseline` and `candidate` (as harness.subject_names.parse_subject reads them) replace the
    suite's own pairs of sides. Raises InputError for an unknown suite or subject."""
    if name not in SUITES:
        raise unknown_name("suite", name, SUITES)
    return sampling.cases(baseline=baseline, candidate=candidate, backend=backend)


def select(cases: Iterable[Case], pattern: str) -> list[Case]:
    """The cases whose names match a shell pattern, in order. Raises InputError where none does."""
    known = list(cases)
    found = [case for case in known if fnmatchcase(case.name, pattern)]
    if not found:
        names = ", ".join(case.name for case in known[:5])
        raise InputError(f"no case matches {pattern!r}: there are {len(known)} cases, such as {names}")
    return found

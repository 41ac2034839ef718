"""A policy file: which cases of a suite a gate runs, and the floors of those whose outputs are draws (TOML).

    schema = 1
    suite = "sampling"
    [[floor]]
    cases = "real/engine/*"
    raw = 0.85

The policy is authoritative: every case with a drawn output takes its floors from exactly one [[floor]] entry, and where
the case's own floors are others, the result says so. Nothing in the file is guessed: an unknown key, a pattern that
matches nothing, a floor that no entry or two entries give, are errors.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepinfer.errors import InputError, unknown_name

SCHEMA = 1
MOST_ROWS = 4096
"""Rows up to which a case grows with --until-decided, unless the policy says otherwise."""
AGAINST = ("report", "block")


@dataclass(frozen=True)
class Entry:
    """One [[floor]], which begins in `line` of the file. A `report_only` entry has a `reason`, and its cases leave the
    verdict alone; any other has a `raw` floor if its cases have draws. `same_set` replaces the floor of that rule."""

    cases: tuple[str, ...]
    raw: float | None
    residual: float
    same_set: float | None
    report_only: bool
    reason: str
    line: int


@dataclass(frozen=True)
class Policy:
    """A whole policy. `accepted` is the hash of the history's last entry when floors were last accepted."""

    path: str
    suite: str
    entries: tuple[Entry, ...]
    backend: str = "native"
    baseline: str | None = None
    candidate: str | None = None
    cases: tuple[str, ...] = ("*",)
    canaries: str = "fast"
    aa: str = "fast"
    against_accepted: str = "report"
    max_rows: int = MOST_ROWS
    accepted: str | None = None


def read_policy(path: Path) -> Policy:
    """The policy in a file. Raises InputError, in one line, for anything that is not one."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): give a policy file (TOML)") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: give a policy file (TOML)") from None
    return parse_policy(text, str(path))


def parse_policy(text: str, path: str) -> Policy:
    """As `read_policy`, from text; `path` is how messages call it."""
    try:
        table = _Table(tomllib.loads(text), path)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {' '.join(str(error).split())}") from None
    if table.take("schema", int, None) != SCHEMA:
        raise InputError(f"{path}: schema {table.seen('schema')!r}: give schema = {SCHEMA}")
    suite = table.take("suite", str, None)
    if suite is None:
        raise InputError(f"{path} names no suite: give suite = 'sampling'")
    found = table.take("floor", list, [])
    lines = [number for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*floor\s*\]\]", line)]
    if len(lines) != len(found):
        lines = [1] * len(found)  # written as inline tables
    policy = Policy(
        path=path,
        suite=suite,
        entries=tuple(_entry(one, path, line) for one, line in zip(found, lines, strict=True)),
        backend=table.take("backend", str, "native"),
        baseline=table.take("baseline", str, None),
        candidate=table.take("candidate", str, None),
        cases=table.names("cases", ("*",)),
        canaries=table.take("canaries", str, "fast"),
        aa=table.take("aa", str, "fast"),
        against_accepted=table.choice("against_accepted", AGAINST),
        max_rows=table.take("max_rows", int, MOST_ROWS),
        accepted=table.take("accepted", str, None),
    )
    if policy.max_rows < 1:
        raise InputError(f"{path}: max_rows {policy.max_rows}: give a number of rows")
    table.done()
    return policy


def _entry(value: Any, path: str, line: int) -> Entry:
    where = f"{path}:{line}"
    if not isinstance(value, dict):
        raise InputError(f"{where}: floor is a {type(value).__name__}: give [[floor]] tables")
    table = _Table(value, where)
    entry = Entry(
        cases=table.names("cases", ()),
        raw=table.share("raw"),
        residual=1.0 if (residual := table.share("residual")) is None else residual,
        same_set=table.share("same_set"),
        report_only=table.take("report_only", bool, False),
        reason=table.take("reason", str, "").strip(),
        line=line,
    )
    if not entry.cases:
        raise InputError(f"{where}: a floor without cases: give cases = 'PATTERN' or a list of patterns")
    if entry.report_only != bool(entry.reason):
        raise InputError(f"{where}: report_only and reason go together: give both, or neither")
    if entry.same_set == 0:
        raise InputError(f"{where}: same_set 0 lets every row differ: give a share above 0")
    table.done()
    return entry


class _Table:
    """A TOML table whose keys are taken one by one; what is left over is unknown."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self.table, self.where = table, where
        self.known: list[str] = []

    def seen(self, key: str) -> Any:
        return self.table.get(key)

    def take(self, key: str, kind: type, default: Any) -> Any:
        self.known.append(key)
        value = self.table.get(key, default)
        if value is not default and (not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))):
            raise InputError(f"{self.where}: {key} is a {type(value).__name__}: give a {kind.__name__}")
        return value

    def share(self, key: str) -> float | None:
        self.known.append(key)
        value = self.table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise InputError(f"{self.where}: {key} = {value!r}: give a share in [0, 1], such as 0.88")
        return float(value)

    def names(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """One name or a list of names."""
        self.known.append(key)
        value = self.table.get(key, list(default))
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise InputError(f"{self.where}: {key} = {value!r}: give a pattern or a list of patterns")
        return tuple(names)

    def choice(self, key: str, known: tuple[str, ...]) -> str:
        value = str(self.take(key, str, known[0]))
        if value not in known:
            raise InputError(f"{self.where}: {unknown_name(key, value, known)}")
        return value

    def done(self) -> None:
        for key in self.table:
            if key not in self.known:
                raise InputError(f"{self.where}: {unknown_name('key', key, self.known)}")

"""The rules under which an output is compared: frozen values with a stable text form.

`bitwise()` integer views; `ulp(n, at_least=None)`; `tolerance(rtol, atol)`; `same_set(floor=1.0)` sets of columns a
row; `ordered_set(ties="any", key=None, by="id")` lists of ids a row; `agreement(cluster=None)` draws, with the case's
Floor; `ignore(reason, expires)`. What each one means on data is in harness/compare.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date

from deepinfer.errors import InputError, unknown_name


@dataclass(frozen=True)
class Bitwise:
    """Equal bit patterns: signed zeros and NaN payloads count, identical NaNs are equal."""

    @property
    def text(self) -> str:
        return "bitwise"


@dataclass(frozen=True)
class Ulp:
    """At most `n` units in the last place apart; with `at_least`, units of max(|baseline|, at_least).

    Both zeros are equal, any two NaNs are equal, an infinity equals itself alone.
    """

    n: int
    at_least: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 0:
            raise InputError(f"ulp({self.n!r}): give a whole number >= 0")
        if self.at_least is not None and not 0 < self.at_least < math.inf:
            raise InputError(f"ulp at_least={self.at_least!r}: give a finite number > 0, or None")

    @property
    def text(self) -> str:
        return f"ulp({self.n})" if self.at_least is None else f"ulp({self.n}, at_least={self.at_least!r})"


@dataclass(frozen=True)
class Tolerance:
    """|candidate - baseline| <= atol + rtol * |baseline|; NaN equals NaN, an infinity equals itself alone."""

    rtol: float
    atol: float

    def __post_init__(self) -> None:
        if not 0 <= self.rtol < 1:
            raise InputError(
                f"tolerance rtol={self.rtol!r}: give a number in [0, 1); from 1 on, zeros pass for anything"
            )
        if not 0 <= self.atol < math.inf:
            raise InputError(f"tolerance atol={self.atol!r}: give a finite number >= 0")

    @property
    def text(self) -> str:
        return f"tolerance(rtol={self.rtol!r}, atol={self.atol!r})"


@dataclass(frozen=True)
class SameSet:
    """Boolean masks [rows, columns]: the same columns in every row.

    With a floor below 1, up to that share of rows may hold another set, if and only if the explanation of the case
    proves each of them (column `kept_cause` of its table of rows, see harness/runner.py). One unproven row is drift.
    The floor is a bound on the rows compared, not a statement about a rate.
    """

    floor: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.floor <= 1:
            raise InputError(f"same_set floor={self.floor!r}: give a number in (0, 1]")

    @property
    def text(self) -> str:
        return "same_set" if self.floor == 1 else f"same_set(floor={self.floor!r})"


@dataclass(frozen=True)
class OrderedSet:
    """Lists of ids, integers [rows, k]: the same ids in the same order in every row.

    `key` names the array that the ids are ordered by: an input, or an output of the baseline. by="id": it is
    [rows, columns], and id i of a row has its column i; by="position": it is [rows, k] beside the baseline's list.
    With ties="any" an id may stand in the place of another of exactly equal key (both zeros are equal, a NaN is equal
    to nothing), no id twice; by id that may be one from beyond the cut, by position only one of the same list. With
    ties="strict" nothing may, and the key only serves to tell tie swaps apart.
    """

    ties: str = "any"
    key: str | None = None
    by: str = "id"

    def __post_init__(self) -> None:
        if self.ties not in ("any", "strict"):
            raise unknown_name("ties of ordered_set", self.ties, ("any", "strict"))
        if self.by not in ("id", "position"):
            raise unknown_name("by of ordered_set", self.by, ("id", "position"))
        if self.ties == "any" and self.key is None:
            raise InputError("ordered_set(ties='any') without a key: name the array that ids are ordered by, or strict")

    @property
    def text(self) -> str:
        key = "" if self.key is None else f", key={self.key!r}" + ("" if self.by == "id" else f", by={self.by!r}")
        return f"ordered_set(ties={self.ties!r}{key})"


@dataclass(frozen=True)
class Agreement:
    """A random draw: the share of equal rows against the case's Floor. `cluster` names an input whose equal values
    mark rows that are not independent."""

    cluster: str | None = None

    @property
    def text(self) -> str:
        return "agreement" if self.cluster is None else f"agreement(cluster={self.cluster!r})"


@dataclass(frozen=True)
class Ignore:
    """Not compared, for a reason, until a day (ISO date). From the day after, the output has no rule."""

    reason: str
    expires: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise InputError("ignore without a reason: say why the output is not compared")
        try:
            date.fromisoformat(self.expires)
        except ValueError:
            raise InputError(f"ignore expires={self.expires!r}: give an ISO date such as 2027-01-31") from None

    @property
    def text(self) -> str:
        return f"ignore({self.reason!r}, expires={self.expires})"

    def expired(self, today: date) -> bool:
        return today > date.fromisoformat(self.expires)


Rule = Bitwise | Ulp | Tolerance | SameSet | OrderedSet | Agreement | Ignore


def bitwise() -> Bitwise:
    return Bitwise()


def ulp(n: int, at_least: float | None = None) -> Ulp:
    return Ulp(n, at_least)


def tolerance(rtol: float, atol: float) -> Tolerance:
    return Tolerance(rtol, atol)


def same_set(floor: float = 1.0) -> SameSet:
    return SameSet(floor)


def ordered_set(ties: str = "any", key: str | None = None, by: str = "id") -> OrderedSet:
    return OrderedSet(ties, key, by)


def agreement(cluster: str | None = None) -> Agreement:
    return Agreement(cluster)


def ignore(reason: str, expires: str) -> Ignore:
    return Ignore(reason, expires)

"""Arithmetic progressions of integers and their intersections, exactly, however long they are."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Progression:
    """start, start + step, ..., `count` terms; `step` is 1 or more."""

    start: int
    count: int = 1
    step: int = 1

    @property
    def last(self) -> int:
        return self.start + (self.count - 1) * self.step

    def meets(self, other: Progression) -> int | None:
        """The smallest common term, or None where there is provably none."""
        if not self.count or not other.count:
            return None
        shared = math.gcd(self.step, other.step)
        if (other.start - self.start) % shared:
            return None
        period = self.step // shared * other.step
        turns = (other.start - self.start) // shared * pow(self.step // shared, -1, other.step // shared)
        common = self.start + turns % (other.step // shared) * self.step
        least = max(self.start, other.start)
        common += -(-(least - common) // period) * period if common < least else 0
        return common if common <= min(self.last, other.last) else None

    def __str__(self) -> str:
        if self.count == 1:
            return str(self.start)
        step = "" if self.step == 1 else f" by {self.step}"
        return f"{self.start} to {self.last}{step}"

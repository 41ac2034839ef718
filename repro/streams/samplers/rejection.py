"""FlashInfer's samplers on one row of probabilities: the scan, and the search with two pivots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.streams.samplers import block_sums as sums

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class Limits:
    """What a drawn column must satisfy: fewer than `top_k` columns above it, mass above it below `top_p`; `min_p` cuts
    beforehand. None is off."""

    top_k: int | None = None
    top_p: np.float32 | None = None
    min_p: np.float32 | None = None

    def admits(self, count: int, mass: np.float32) -> bool:
        return (self.top_k is None or count < self.top_k) and (self.top_p is None or bool(mass < self.top_p))


@dataclass(frozen=True)
class Layout:
    """How a kernel walks a row: columns a thread loads at once, threads, the order inside a thread, and whether the
    pivots are float64 (0.6) or float32 (0.7)."""

    vec: int
    threads: int
    order: str
    wide_pivots: bool


def draw(row: F32, uniform: Callable[[int], np.float32], limits: Limits, layout: Layout) -> int:
    """The column the kernel returns, each float operation in its own order; uniform(n) is the row's n-th word."""
    walked, columns = sums.tiles(row, layout.vec, layout.threads), len(row)
    if limits.min_p is not None:
        inside = walked >= np.float32(row.max() * limits.min_p)
        scale = sums.mass_above(walked, inside)
        return sums.first_above(walked, inside, np.float32(uniform(0) * scale), columns, layout.order)
    if limits == Limits():
        return sums.first_above(walked, walked > 0, uniform(0), columns, layout.order)
    number = np.float64 if layout.wide_pivots else np.float32
    low, high, scale, turn = number(0), number(1), np.float32(1), 0
    while True:
        inside = walked > low
        token = sums.first_above(walked, inside, np.float32(uniform(turn) * scale), columns, layout.order)
        turn += 1
        first = number(row[token])
        second = number((first + high) / number(2))
        above_first, above_second = walked > first, walked > second
        mass_first, mass_second = sums.mass_above(walked, above_first), sums.mass_above(walked, above_second)
        if limits.admits(int(above_first.sum()), mass_first):
            return token
        if limits.admits(int(above_second.sum()), mass_second):
            low, high, scale = first, second, mass_first
        else:
            low, scale = second, mass_second
        if not low < high:
            return token

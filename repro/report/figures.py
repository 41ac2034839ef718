# ruff: noqa: RUF001 - the texts of a picture have real minus and multiplication signs
"""The pictures of a report. Each takes plain numbers and a width, and says everything in its own labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repro.report.svg import ROLE, WIDE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE = 2**31


@dataclass(frozen=True)
class Totals:
    """Totals of both sides, one entry a row, and which rows drew different tokens."""

    baseline: Sequence[int]
    candidate: Sequence[int]
    differs: Sequence[bool]


def totals(data: Totals, width: int) -> Figure:
    """Each row's total on both sides, a line between them; above, the share of words rejected at that total."""
    left = [value - ONE for value in data.baseline]
    right = [value - ONE for value in data.candidate]
    reach = _reach([*left, *right])
    figure = new_figure(width, 330)
    step, rows = figure.subplots(2, 1, sharex=True, height_ratios=[1, 2.1])
    figure.subplots_adjust(left=0.16 if width >= WIDE else 0.22, right=0.97, top=0.93, bottom=0.15, hspace=0.12)

    step.plot([-reach, 0], [0, 0], color=ROLE["ink"], lw=2)
    step.plot([0, reach], [50, 50], color=ROLE["ink"], lw=2)
    step.plot([0, 0], [0, 50], color=ROLE["ink"], lw=1, ls=(0, (2, 2)))
    step.set_ylim(-12, 72)
    step.set_yticks([0, 50], ["0 %", "50 %"])
    step.set_ylabel("words\nrejected", rotation=0, ha="right", va="center", labelpad=8)
    step.text(-reach * 0.98, 8, "limit = 2 × total", ha="left", color=ROLE["muted"])
    step.text(reach * 0.98, 58, "limit = total", ha="right", color=ROLE["muted"])

    rows.axvline(0, color=ROLE["ink"], lw=1, ls=(0, (2, 2)))
    groups = _groups(left, right, data.differs)
    for (which, colour, line, alpha), pairs in groups.items():
        xs = [value for a, b in pairs for value in (_clip(a, reach), _clip(b, reach), None)]
        ys = [value for _ in pairs for value in (1, 0, None)]
        rows.plot(xs, ys, color=ROLE[colour], lw=line, alpha=alpha, zorder=2 + (which == "token differs"))
    rows.plot(
        [_clip(a, reach) for a in left], [1] * len(left), "o", ms=4, mew=0, color=ROLE["base"], alpha=0.7, zorder=4
    )
    rows.plot(
        [_clip(b, reach) for b in right], [0] * len(right), "o", ms=4, mew=0, color=ROLE["cand"], alpha=0.7, zorder=4
    )
    rows.set_ylim(-0.25, 1.3)
    rows.set_yticks([1, 0], ["baseline", "candidate"])
    rows.get_yticklabels()[0].set_color(ROLE["base"])
    rows.get_yticklabels()[1].set_color(ROLE["cand"])
    rows.tick_params(length=0, axis="y")
    rows.set_xlim(-reach, reach)
    rows.set_xlabel("total of the row − 2³¹, in units of 2⁻³¹")
    rows.text(0, 1.3, "2³¹", ha="center", va="bottom", color=ROLE["ink"])
    for axes in (step, rows):
        axes.spines["left"].set_visible(False)
    return figure


def _groups(left: Sequence[int], right: Sequence[int], differs: Sequence[bool]) -> dict[Any, Any]:
    groups: dict[Any, list[Any]] = {
        ("same side", "faint", 0.8, 0.6): [],
        ("crosses, same token", "muted", 0.8, 0.8): [],
        ("token differs", "hit", 1.8, 1.0): [],
    }
    same, crosses, hit = groups.values()
    for a, b, other in zip(left, right, differs, strict=True):
        (hit if other else crosses if (a < 0) != (b < 0) else same).append((a, b))
    return groups


def _reach(values: Sequence[int]) -> float:
    """Half the width of the axis: what holds 95 % of the points, rounded up."""
    ordered = sorted(abs(value) for value in values)
    most = ordered[min(len(ordered) - 1, int(0.97 * len(ordered)))] * 1.08
    return float(max(most, 8))


def _clip(value: int, reach: float) -> float:
    return max(-reach, min(reach, value))

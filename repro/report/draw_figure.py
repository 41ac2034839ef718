# ruff: noqa: RUF001 - the texts of a picture have real minus and multiplication signs
"""One row's draw on both sides: the cumulative distribution laid along the axis of 32-bit words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repro.report.svg import ROLE, WIDE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORDS = 2**32
SHOWN_WORDS = 4


@dataclass(frozen=True)
class Side:
    """One side of the row. `edges` are cumulative weights, rising from 0 to `total`, that bound the columns or runs of
    small columns; `interval` bounds the drawn token; `words` were taken in order, the last one accepted."""

    total: int
    limit: int
    words: tuple[int, ...]
    token: int
    interval: tuple[int, int]
    edges: Sequence[int]


def draw(baseline: Side, candidate: Side, width: int) -> Figure:
    """Two strips, one a side: copies of the distribution up to the limit, what is rejected beyond it, and the words."""
    wide = width >= WIDE
    figure = new_figure(width, 250)
    left, right = (92, 16) if wide else (12, 12)
    axes = figure.add_axes((left / width, 46 / 250, 1 - (left + right) / width, 160 / 250))
    axes.set_xlim(0, WORDS)
    axes.set_ylim(-0.45, 1.75)
    for y, side, name, colour in ((1.0, baseline, "baseline", "base"), (0.0, candidate, "candidate", "cand")):
        _strip(axes, side, y, colour)
        text = name if wide else f"{name}: token {side.token}"
        place = (-8 / (width - left - right), y) if wide else (0, y + 0.37)
        axes.text(*place, text, color=ROLE[colour], ha="right" if wide else "left", va="center",
                  transform=_beside(axes) if wide else axes.transData)  # fmt: skip
    taken = max(baseline.words, candidate.words, key=len)[:SHOWN_WORDS]
    for index, word in enumerate(taken):
        axes.plot([word, word], [-0.25, 1.32], color=ROLE["ink"], lw=1, ls=(0, (3, 2)), zorder=3)
        axes.text(word, 1.36 + 0.0 * index, f"word {index + 1}", ha=_lean(word), va="bottom")
        for y, side, colour in ((1.0, baseline, "base"), (0.0, candidate, "cand")):
            if index < len(side.words):
                _mark(axes, side, word, y, colour, wide)
    axes.set_yticks([])
    axes.set_xticks([0, 2**31, WORDS], ["0", "2³¹", "2³²"])
    axes.set_xlabel("32-bit word")
    for name in ("left", "bottom"):
        axes.spines[name].set_visible(False)
    axes.tick_params(length=0)
    return figure


def _beside(axes: Axes) -> Any:
    from matplotlib.transforms import blended_transform_factory

    return blended_transform_factory(axes.transAxes, axes.transData)


def _lean(word: int) -> str:
    share = word / WORDS
    return "left" if share < 0.06 else "right" if share > 0.94 else "center"


def _strip(axes: Axes, side: Side, y: float, colour: str) -> None:
    from matplotlib.collections import PolyCollection

    height = 0.26
    shades: tuple[list[Any], list[Any]] = ([], [])
    for copy in range(side.limit // side.total):
        base = copy * side.total
        for index, (low, high) in enumerate(zip(side.edges, side.edges[1:], strict=False)):
            shades[index % 2].append(_box(base + low, base + high, y, height))
        low, high = side.interval
        axes.add_collection(
            PolyCollection(
                [_box(base + low, base + high, y, height)],
                facecolor=ROLE[colour],
                edgecolor=ROLE[colour],
                lw=1.5,
                zorder=2,
            )
        )
    for boxes, alpha in zip(shades, (0.75, 0.35), strict=True):
        axes.add_collection(PolyCollection(boxes, facecolor=ROLE["faint"], edgecolor="none", alpha=alpha))
    if WORDS - side.limit > WORDS // 1000:
        axes.add_collection(
            PolyCollection(
                [_box(side.limit, WORDS, y, height)], facecolor="none", edgecolor=ROLE["muted"], hatch="///", lw=0.8
            )
        )
        axes.text((side.limit + WORDS) / 2, y - height - 0.03, "rejected", ha="center", va="top", color=ROLE["muted"])
    if side.limit > side.total:
        for copy in range(2):
            axes.text(
                (copy + 0.5) * side.total,
                y - height - 0.03,
                "every token once" if not copy else "and once more",
                ha="center",
                va="top",
                color=ROLE["muted"],
            )


def _box(low: float, high: float, y: float, height: float) -> list[tuple[float, float]]:
    return [(low, y - height), (low, y + height), (high, y + height), (high, y - height)]


def _mark(axes: Axes, side: Side, word: int, y: float, colour: str, wide: bool) -> None:
    accepted = word == side.words[-1]
    marker = {"marker": "o", "ms": 9} if accepted else {"marker": "X", "ms": 10}
    axes.plot(
        [word], [y], color=ROLE[colour] if accepted else ROLE["muted"], mec=ROLE["paper"], mew=1.5, zorder=5, **marker
    )
    if accepted and wide:
        lean = "right" if word > WORDS * 0.8 else "left"
        shift = WORDS * 0.012 * (-1 if lean == "right" else 1)
        axes.text(word + shift, y, f"token {side.token}", ha=lean, va="center", color=ROLE[colour], fontweight="bold", zorder=6,
                  bbox={"facecolor": ROLE["paper"], "edgecolor": "none", "pad": 2, "alpha": 0.85})  # fmt: skip

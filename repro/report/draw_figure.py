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
SHOWN_WORDS = 6
HALF = 0.27
"""Half the height of a strip."""
BESIDE = 14
"""Pixels that two word numbers need between them."""


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
    height = 250
    figure = new_figure(width, height)
    left, right = (92, 16) if wide else (14, 14)
    axes = figure.add_axes((left / width, 44 / height, 1 - (left + right) / width, 190 / height))
    axes.set_xlim(0, WORDS)
    axes.set_ylim(-0.5, 2.15)
    places = ((1.0, baseline, "baseline", "base"), (-0.08, candidate, "candidate", "cand"))
    for y, side, name, colour in places:
        _strip(axes, side, y, colour)
        if wide:
            axes.text(-8 / (width - left - right), y, name, color=ROLE[colour], ha="right", va="center",
                      transform=axes.get_yaxis_transform())  # fmt: skip
        else:
            axes.text(0, y + HALF + 0.04, f"{name}: token {side.token}", color=ROLE[colour], va="bottom")
    _words(axes, places, width - left - right, wide)
    axes.set_yticks([])
    axes.set_xticks([0, 2**31, WORDS], ["0", "2³¹", "2³²"])
    axes.set_xlabel("32-bit words, numbered as the row draws them" if wide else "32-bit words, numbered as drawn")
    for name in ("left", "bottom"):
        axes.spines[name].set_visible(False)
    axes.tick_params(length=0)
    return figure


def _words(axes: Axes, places: Sequence[tuple[float, Side, str, str]], pixels: int, wide: bool) -> None:
    """A dashed line for each word that either side drew, its number on top, and what each side made of it."""
    longest = max((side.words for _, side, _, _ in places), key=len)
    base = 1.42 if wide else 1.62
    levels: list[tuple[float, float]] = []
    for number, word in enumerate(longest[:SHOWN_WORDS], 1):
        height = base
        while any(abs(word - x) * pixels / WORDS < BESIDE and height == y for x, y in levels):
            height += 0.22
        levels.append((word, height))
        drawn = [(y, side, colour) for y, side, _, colour in places if number <= len(side.words)]
        foot = min(y for y, _, _ in drawn)
        axes.plot([word, word], [foot - HALF, height - 0.03], color=ROLE["ink"], lw=1, ls=(0, (3, 2)), zorder=3)
        axes.text(word, height, str(number), ha="center", va="bottom", fontweight="bold")
        for y, side, colour in drawn:
            _mark(axes, side, number, y, colour, wide)
    if len(longest) > SHOWN_WORDS:
        axes.text(WORDS, base + 0.4, f"… {len(longest)} words in all", ha="right", va="bottom", color=ROLE["muted"])


def _strip(axes: Axes, side: Side, y: float, colour: str) -> None:
    """The distribution as often as the limit lets it in; alternate columns in two shades, the drawn one in colour."""
    shades: tuple[list[Any], list[Any]] = ([], [])
    drawn: list[Any] = []
    copies = side.limit // side.total
    for copy in range(copies):
        base = copy * side.total
        for index, (low, high) in enumerate(zip(side.edges[:-1], side.edges[1:], strict=True)):
            shades[index % 2].append(_box(base + low, base + high, y))
        drawn.append(_box(base + side.interval[0], base + side.interval[1], y))
        label = ("every token once" if copy == 0 else "and again") if copies > 1 else "every token once"
        axes.text(base + side.total / 2, y - HALF - 0.03, label, ha="center", va="top", color=ROLE["muted"])
    _boxes(axes, shades[0], facecolor=ROLE["faint"], edgecolor="none", alpha=0.8)
    _boxes(axes, shades[1], facecolor=ROLE["faint"], edgecolor="none", alpha=0.35)
    _boxes(axes, drawn, facecolor=ROLE[colour], edgecolor=ROLE[colour], lw=1.5, zorder=2)
    if WORDS - side.limit > WORDS // 1000:
        middle = (side.limit + WORDS) / 2
        _boxes(
            axes,
            [_box(side.limit, WORDS, y)],
            facecolor="none",
            edgecolor=ROLE["muted"],
            hatch="///",
            lw=0.8,
            alpha=0.7,
        )
        axes.text(middle, y - HALF - 0.03, "rejected", ha="center", va="top", color=ROLE["muted"])


def _boxes(axes: Axes, boxes: list[Any], **style: Any) -> None:
    from matplotlib.collections import PolyCollection

    axes.add_collection(PolyCollection(boxes, **style))


def _box(low: float, high: float, y: float) -> list[tuple[float, float]]:
    return [(low, y - HALF), (low, y + HALF), (high, y + HALF), (high, y - HALF)]


def _mark(axes: Axes, side: Side, number: int, y: float, colour: str, wide: bool) -> None:
    """A ring where the side accepts the word, a cross where it rejects it."""
    word = side.words[number - 1]
    style: dict[str, Any] = {"color": ROLE["ink"], "marker": "X", "ms": 10}
    if number == len(side.words):
        style = {"color": ROLE[colour], "marker": "o", "ms": 10}
        if wide:
            lean = -1 if word > WORDS * 0.8 else 1
            axes.text(
                word + lean * WORDS * 0.013, y, f"token {side.token}", ha="left" if lean > 0 else "right", va="center",
                color=ROLE[colour], fontweight="bold", zorder=6,
                bbox={"facecolor": ROLE["paper"], "edgecolor": "none", "pad": 2, "alpha": 0.9},
            )  # fmt: skip
    axes.plot([word], [y], mec=ROLE["paper"], mew=1.5, zorder=5, **style)

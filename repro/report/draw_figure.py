"""One row's draw on both sides: the cumulative distribution laid along the axis of 32-bit words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    small columns; `interval` bounds the drawn token; `words` were taken in order, the last one accepted. `columns` are
    the drawn column and its neighbours, `beside` the edges that bound them (one more)."""

    total: int
    limit: int
    words: Sequence[int]
    residue: int
    token: int
    interval: Sequence[int]
    edges: Sequence[int]
    columns: Sequence[int]
    beside: Sequence[int]


def draw(baseline: Side, candidate: Side, width: int) -> Figure:
    """Two strips, one a side: copies of the distribution up to the limit, what is rejected beyond it, and the words.
    Below, each side's cumulative distribution around the column that it draws."""
    wide = width >= WIDE
    height = 460
    figure = new_figure(width, height)
    left, right = (92, 16) if wide else (14, 14)
    axes = figure.add_axes((left / width, 252 / height, 1 - (left + right) / width, 196 / height))
    axes.set_xlim(0, WORDS)
    places = ((1.0, baseline, "baseline", "base"), (-0.08, candidate, "candidate", "cand"))
    for y, side, name, colour in places:
        _strip(axes, side, y, colour)
        if wide:
            axes.text(-8 / (width - left - right), y, name, color=ROLE[colour], ha="right", va="center",
                      transform=axes.get_yaxis_transform())  # fmt: skip
        else:
            axes.text(0, y + HALF + 0.04, f"{name}: token {side.token}", color=ROLE[colour], va="bottom")
    top = _words(axes, places, width - left - right, wide)
    axes.set_ylim(-0.5, top + 0.22)
    axes.set_yticks([])
    axes.set_xticks([0, 2**31, WORDS], ["0", "2³¹", "2³²"])
    axes.set_xlabel("32-bit words, numbered as the row draws them" if wide else "32-bit words, numbered as drawn")
    for name in ("left", "bottom"):
        axes.spines[name].set_visible(False)
    axes.tick_params(length=0)
    first, gap = (left, 60) if wide else (50, 56)
    panel = (width - first - right - gap) / 2
    for index, (_, side, name, colour) in enumerate(places):
        place = (first + index * (panel + gap)) / width, 42 / height, panel / width, 130 / height
        _staircase(figure.add_axes(place), side, name, colour, wide)
    return figure


def _staircase(axes: Axes, side: Side, name: str, colour: str, wide: bool) -> None:
    """The CDF over a few columns, the residue as a level, and the column whose step it meets."""
    share = [100 * edge / side.total for edge in side.beside]
    level = 100 * side.residue / side.total
    drawn = list(side.columns).index(side.token)
    for index, (low, high) in enumerate(pairwise(share)):
        tone = ROLE[colour] if index == drawn else ROLE["muted"]
        axes.plot([index, index], [low, high], color=tone, lw=5 if index == drawn else 2, zorder=3)
        axes.plot([index, index + 1], [high, high], color=ROLE["muted"], lw=1.2)
    axes.plot([-0.8, drawn], [level, level], color=ROLE["ink"], lw=1, ls=(0, (3, 2)), zorder=4)
    axes.plot([drawn], [level], "o", ms=9, color=ROLE[colour], mec=ROLE["paper"], mew=1.5, zorder=5)
    axes.set_xlim(-0.8, len(side.columns))
    room = (share[-1] - share[0]) * 0.06 or 1
    axes.set_ylim(share[0] - room, share[-1] + room)
    shown = range(len(side.columns)) if wide else [drawn]
    axes.set_xticks(list(shown), [str(side.columns[index]) for index in shown])
    axes.get_xticklabels()[list(shown).index(drawn)].set(color=ROLE[colour], fontweight="bold")
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.4g} %")
    axes.yaxis.set_major_locator(_locator())
    axes.set_xlabel("token" if wide else "")
    axes.set_title(f"{name}: residue = {level:.4g} % of the total" if wide else f"residue {level:.4g} %",
                   loc="left", fontsize=12, color=ROLE[colour], pad=8)  # fmt: skip


def _locator() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def _words(axes: Axes, places: Sequence[tuple[float, Side, str, str]], pixels: int, wide: bool) -> float:
    """A dashed line for each word that either side drew, its number on top, and what each side made of it; returns the
    height of the highest number."""
    longest = max((side.words for _, side, _, _ in places), key=len)
    base = 1.42 if wide else 1.62
    levels: list[tuple[float, float]] = []
    for number, word in enumerate(longest[:SHOWN_WORDS]):
        height = base
        while any(abs(word - x) * pixels / WORDS < BESIDE and height == y for x, y in levels):
            height += 0.22
        levels.append((word, height))
        drawn = [(y, side, colour) for y, side, _, colour in places if number < len(side.words)]
        foot = min(y for y, _, _ in drawn)
        axes.plot([word, word], [foot - HALF, height - 0.03], color=ROLE["ink"], lw=1, ls=(0, (3, 2)), zorder=3)
        axes.text(word, height, str(number), ha="center", va="bottom", fontweight="bold")
        for y, side, colour in drawn:
            _mark(axes, side, number, y, colour, wide)
    highest = max(y for _, y in levels)
    if len(longest) > SHOWN_WORDS:
        highest += 0.25
        axes.text(WORDS, highest, f"… {len(longest)} words in all", ha="right", va="bottom", color=ROLE["muted"])
    return highest


def _strip(axes: Axes, side: Side, y: float, colour: str) -> None:
    """The distribution as often as the limit lets it in; alternate columns in two shades, the drawn one in colour."""
    shades: tuple[list[Any], list[Any]] = ([], [])
    drawn: list[Any] = []
    copies = side.limit // side.total
    for copy in range(copies):
        base = copy * side.total
        for index, (low, high) in enumerate(pairwise(side.edges)):
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
    word = side.words[number]
    style: dict[str, Any] = {"color": ROLE["ink"], "marker": "X", "ms": 10}
    if number == len(side.words) - 1:
        style = {"color": ROLE[colour], "marker": "o", "ms": 10}
        if wide:
            lean = -1 if word > WORDS * 0.8 else 1
            axes.text(
                word + lean * WORDS * 0.013, y, f"token {side.token}", ha="left" if lean > 0 else "right", va="center",
                color=ROLE[colour], fontweight="bold", zorder=6,
                bbox={"facecolor": ROLE["paper"], "edgecolor": "none", "pad": 2, "alpha": 0.9},
            )  # fmt: skip
    axes.plot([word], [y], mec=ROLE["paper"], mew=1.5, zorder=5, **style)

# ruff: noqa: RUF001 - the texts of a picture have real minus and multiplication signs
"""The pictures of a report. Each takes plain numbers and a width, and says everything in its own labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.explanation import UNEXPLAINED
from repro.report.svg import ROLE, WIDE, new_figure
from repro.report.words import cause_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ONE = 2**31
DASH = (0, (2, 2))


@dataclass(frozen=True)
class Totals:
    """Totals of both sides, one entry a row, and which rows drew different tokens."""

    baseline: Sequence[int]
    candidate: Sequence[int]
    differs: Sequence[bool]


def totals(data: Totals, width: int) -> Figure:
    """Each row's total on both sides, a line between them; above, the share of words rejected at that total."""
    pairs = [(a - ONE, b - ONE) for a, b in zip(data.baseline, data.candidate, strict=True)]
    reach = _reach(pairs, data.differs)
    near = [index for index, pair in enumerate(pairs) if min(map(abs, pair)) <= reach]
    left, right = [pairs[index][0] for index in near], [pairs[index][1] for index in near]
    figure = new_figure(width, 340)
    step, rows = figure.subplots(2, 1, sharex=True, height_ratios=[1, 2.2])
    figure.subplots_adjust(left=92 / width, right=1 - 12 / width, top=0.93, bottom=0.18, hspace=0.16)

    step.plot([-reach, 0], [0, 0], color=ROLE["ink"], lw=2)
    step.plot([0, reach], [50, 50], color=ROLE["ink"], lw=2)
    step.plot([0, 0], [0, 50], color=ROLE["ink"], lw=1, ls=DASH)
    step.set_ylim(-12, 80)
    step.set_yticks([0, 50], ["0 %", "50 %"])
    step.set_ylabel("words\nrejected", rotation=0, ha="right", va="center", labelpad=6)
    step.text(-reach, 10, "limit = 2 × total", ha="left", color=ROLE["muted"])
    step.text(reach, 60, "limit = total", ha="right", color=ROLE["muted"])
    step.tick_params(length=0)
    step.spines["bottom"].set_visible(False)

    rows.axvline(0, color=ROLE["ink"], lw=1, ls=DASH)
    drawn, gap = _by_kind(left, right, [data.differs[index] for index in near]), float("nan")
    for (colour, line, alpha), kind in zip(LINES, drawn, strict=True):
        xs = [value for a, b in kind for value in (_clip(a, reach), _clip(b, reach), gap)]
        rows.plot(xs, [1, 0, gap] * len(kind), color=ROLE[colour], lw=line, alpha=alpha)
    for values, height, colour in ((left, 1, "base"), (right, 0, "cand")):
        shown = [_clip(value, reach) for value in values]
        rows.plot(shown, [height] * len(shown), "o", ms=4.5, mew=0, color=ROLE[colour], alpha=0.75, zorder=4)
    rows.set_ylim(-0.2, 1.2)
    rows.set_yticks([1, 0], ["baseline", "candidate"])
    for label, colour in zip(rows.get_yticklabels(), ("base", "cand"), strict=True):
        label.set_color(ROLE[colour])
    rows.tick_params(length=0, axis="y")
    rows.set_xlim(-reach, reach)
    far = f"{len(pairs) - len(near)} rows lie further out" if len(near) < len(pairs) else ""
    joint = "; " if far and width >= WIDE else "\n"
    rows.set_xlabel(f"total − 2³¹, in units of 2⁻³¹{joint}{far}".rstrip())
    for axes in (step, rows):
        axes.spines["left"].set_visible(False)
    return figure


LINES = (("faint", 0.8, 0.7), ("muted", 0.9, 0.7), ("hit", 2.0, 1.0))
"""Colour, width and opacity of a row's line: stays on its side; crosses 2^31 with the same token; another token."""


def _by_kind(left: Sequence[int], right: Sequence[int], differs: Sequence[bool]) -> list[list[tuple[int, int]]]:
    kinds: list[list[tuple[int, int]]] = [[], [], []]
    for a, b, other in zip(left, right, differs, strict=True):
        kinds[2 if other else int((a < 0) != (b < 0))].append((a, b))
    return kinds


def _reach(pairs: Sequence[tuple[int, int]], differs: Sequence[bool]) -> float:
    """Half the width of the axis: every row that differs with room to spare, and at least half of the others."""
    hits = [max(map(abs, pair)) for pair, other in zip(pairs, differs, strict=True) if other]
    ordered = sorted(max(map(abs, pair)) for pair in pairs)
    return max(1.15 * max(hits, default=0), float(ordered[len(ordered) // 2]), 8.0)


def _clip(value: int, reach: float) -> float:
    return max(-reach, min(reach, value))


@dataclass(frozen=True)
class Interval:
    """One measured agreement: shares in [0, 1], the floor and the prediction where there are any."""

    label: str
    group: str
    share: float
    low: float
    high: float
    text: str
    floor: float | None = None
    predicted: float | None = None
    expected: tuple[float, float] | None = None


def agreement(data: Sequence[Interval], width: int) -> Figure:
    """One line a case: the measured rate with its interval, the floor, and what was predicted."""
    lines = _grouped(data)
    wide = width >= WIDE
    pitch = 22 if wide else 36
    height = pitch * len(lines) + 74
    figure = new_figure(width, height)
    left, right = (270, 76) if wide else (20, 12)
    axes = figure.add_axes((left / width, 40 / height, 1 - (left + right) / width, pitch * len(lines) / height))
    low = min(min(one.low, one.floor or 1, *(one.expected or (1,))) for one in data)
    start = max(0.0, int(100 * low / 5) * 5 - 1)
    axes.set_xlim(start, 100.6)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_yticks([])
    axes.grid(axis="x", color=ROLE["faint"], lw=0.6, alpha=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    axes.spines["left"].set_visible(False)
    shift = 0.0 if wide else 0.22  # narrow: the label stands above its line
    beside = _beside(axes, figure)
    placed: list[tuple[float, Interval]] = []
    for place, line in enumerate(lines):
        if isinstance(line, str):
            axes.text(8 / width, place + 0.1, line, fontweight="bold", **beside)
            continue
        placed.append((place + shift, line))
        axes.text(8 / width, place - shift, line.label, **beside)
        axes.text(1 - 8 / width, place - shift, line.text, ha="right", color=ROLE["muted"], **beside)
    _intervals(axes, placed)
    _key(figure, width, height)
    return figure


def _grouped(data: Sequence[Interval]) -> list[Interval | str]:
    """The intervals in groups, each under its heading (none for the group "")."""
    lines: list[Interval | str] = []
    for group in dict.fromkeys(one.group for one in data):
        if group:
            lines.append(group)
        lines += [one for one in data if one.group == group]
    return lines


def _beside(axes: Axes, figure: Figure) -> dict[str, Any]:
    """Text beside a line: x as a share of the figure, y the line."""
    from matplotlib.transforms import blended_transform_factory

    return {"va": "center", "transform": blended_transform_factory(figure.transFigure, axes.transData)}


def _intervals(axes: Axes, placed: Sequence[tuple[float, Interval]]) -> None:
    """Every line's prediction, measurement and floor, each kind in one stroke."""
    bands = [(y, one.expected) for y, one in placed if one.expected is not None]
    guesses = [(y, one.predicted) for y, one in placed if one.predicted is not None]
    floors = [(y, one.floor) for y, one in placed if one.floor is not None]
    _bars(axes, bands, color=ROLE["c0"], lw=9, alpha=0.35)
    _ticks(axes, guesses, marker="|", ms=9, mew=2, color=ROLE["c0"])
    _bars(axes, [(y, (one.low, one.high)) for y, one in placed], color=ROLE["ink"], lw=1.6)
    _ticks(axes, [(y, one.share) for y, one in placed], marker="o", ms=6, mew=0, color=ROLE["ink"])
    _ticks(axes, floors, marker="|", ms=15, mew=2.5, color=ROLE["hit"])


def _bars(axes: Axes, bars: Sequence[tuple[float, tuple[float, float]]], **style: Any) -> None:
    gap = float("nan")
    xs = [x for _, (low, high) in bars for x in (100 * low, 100 * high, gap)]
    axes.plot(xs, [y for place, _ in bars for y in (place, place, gap)], **style)


def _ticks(axes: Axes, ticks: Sequence[tuple[float, float]], **style: Any) -> None:
    axes.plot([100 * share for _, share in ticks], [y for y, _ in ticks], ls="none", **style)


def _key(figure: Figure, width: int, height: float) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=ROLE["ink"], marker="o", ms=6, mew=0, lw=1.6, label="measured, 95 %"),
        Line2D([], [], color=ROLE["c0"], lw=9, alpha=0.4, label="predicted, 99 %"),
        Line2D([], [], color=ROLE["hit"], marker="|", ms=13, mew=2.5, lw=0, label="floor"),
    ]
    figure.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, handlelength=1.6,
        columnspacing=1.2, handletextpad=0.5, borderaxespad=0.3, labelcolor=ROLE["muted"],
    )  # fmt: skip


CAUSE_COLOUR = ("c0", "c1", "c2", "c3", "c4", "c5")


def causes(data: Mapping[str, Mapping[str, int]], width: int) -> Figure:
    """Stacked bars: rows of each case whose tokens differ, by cause; `unexplained` is hatched and stands last."""
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(cause for counts in data.values() for cause in counts if cause != UNEXPLAINED))
    wide = width >= WIDE
    pitch = 26 if wide else 44
    key = 24 * (1 + (len(names) + 1 > 3) if wide else len(names) + 1)
    height = pitch * len(data) + key + 50
    figure = new_figure(width, height)
    left = 360 if wide else 8
    axes = figure.add_axes((left / width, 40 / height, 1 - (left + 40) / width, pitch * len(data) / height))
    most = max(sum(counts.values()) for counts in data.values())
    axes.set_xlim(0, most)
    axes.set_ylim(len(data) - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xlabel("rows whose tokens differ")
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    shift = 0.0 if wide else 0.2  # narrow: the label stands above its bar
    ys = [place + shift for place in range(len(data))]
    ends = [0] * len(data)
    for cause in [*names, UNEXPLAINED]:
        numbers = [counts.get(cause, 0) for counts in data.values()]
        some = [place for place, number in enumerate(numbers) if number]
        axes.barh(
            [ys[place] for place in some],
            [numbers[place] for place in some],
            0.62 if wide else 0.36,
            [ends[place] for place in some],
            **_fill(cause, names),
        )
        ends = [end + number for end, number in zip(ends, numbers, strict=True)]
    for place, (case, end) in enumerate(zip(data, ends, strict=True)):
        axes.text(end + most * 0.012, ys[place], str(end), va="center")
        axes.text(8 / width, place - shift, case, **_beside(axes, figure))
    _cause_key(figure, names, data, wide)
    return figure


def _fill(cause: str, names: Sequence[str]) -> dict[str, Any]:
    if cause == UNEXPLAINED:
        return {"facecolor": "none", "edgecolor": ROLE["bad"], "hatch": "////", "lw": 1.2}
    return {"facecolor": ROLE[CAUSE_COLOUR[names.index(cause) % len(CAUSE_COLOUR)]], "edgecolor": "none"}


def _cause_key(figure: Figure, names: Sequence[str], data: Mapping[str, Mapping[str, int]], wide: bool) -> None:
    from matplotlib.patches import Patch

    handles = []
    for cause in [*names, UNEXPLAINED]:
        number = sum(counts.get(cause, 0) for counts in data.values())
        handles.append(Patch(label=f"{cause_name(cause)}: {number}", **_fill(cause, names)))
    figure.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, 1), ncols=3 if wide else 1, frameon=False,
        handlelength=1.4, columnspacing=1.6, borderaxespad=0.3, labelcolor=ROLE["ink"],
    )  # fmt: skip

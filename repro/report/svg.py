"""matplotlib figures as inline SVG: the same bytes for the same data, and colours that follow the page.

A figure is drawn with the colours of `ROLE`, which stand for CSS variables; in the text they become `var(--name)`, so
one drawing is legible on light and dark paper. Texts stay text. One unit of a drawing is one CSS pixel.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE, NARROW = 960, 370
"""Widths in pixels; a page shows the one that fits."""
DPI = 72

ROLES = (
    "ink", "muted", "faint", "paper", "base", "cand", "hit", "bad",
    "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7",
)  # fmt: skip
ROLE = {name: f"#00{index + 1:02x}fe" for index, name in enumerate(ROLES)}
"""Role -> the colour that stands for it while drawing."""

STYLE: Any = {
    "svg.hashsalt": "deepinfer-repro",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 12,
    "figure.dpi": DPI,
    "axes.edgecolor": ROLE["faint"],
    "axes.labelcolor": ROLE["muted"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 1.0,
    "text.color": ROLE["ink"],
    "xtick.color": ROLE["faint"],
    "ytick.color": ROLE["faint"],
    "xtick.labelcolor": ROLE["muted"],
    "ytick.labelcolor": ROLE["muted"],
    "lines.solid_capstyle": "butt",
}

Draw = Callable[[int], "Figure"]
"""Makes a figure of the given width in pixels."""


def new_figure(width: int, height: float) -> Figure:
    """An empty figure of `width` x `height` pixels."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width / DPI, height / DPI), dpi=DPI)


def drawing(name: str, description: str, draw: Draw) -> str:
    """The figure in both widths, as one HTML fragment. `name` prefixes every id; `description` is for those who
    cannot see it."""
    import matplotlib

    parts = []
    for size, width in (("wide", WIDE), ("narrow", NARROW)):
        with matplotlib.rc_context(STYLE):
            text = _svg(draw(width))
        parts.append(_inline(text, f"{name}-{size}", size, width, description))
    return "".join(parts)


def _svg(figure: Figure) -> str:
    buffer = io.BytesIO()
    empty: dict[str, Any] = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(buffer, format="svg", metadata=empty, transparent=True)
    return buffer.getvalue().decode()


def _inline(text: str, prefix: str, size: str, width: int, description: str) -> str:
    """One <svg> without prolog, metadata, foreign names and unused ids."""
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    view = re.search(r'viewBox="([^"]+)"', body)
    assert view is not None
    body = body[body.index(">") + 1 :]
    used = set(re.findall(r'href="#([^"]+)"', body)) | set(re.findall(r"url\(#([^)]+)\)", body))
    body = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r'xlink:href="#', f'href="#{prefix}-', body)
    body = re.sub(r"url\(#", f"url(#{prefix}-", body)
    body = re.sub(r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1var(--sans)", body)
    for name, colour in ROLE.items():
        body = body.replace(colour, f"var(--{name})")
    body = re.sub(r"\n\s*", "\n", body)
    label = escape(description, quote=True)
    return f'<svg class="{size}" role="img" aria-label="{label}" viewBox="{view[1]}" style="max-width:{width}px">{body}'

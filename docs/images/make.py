"""Cuts the README's pictures out of a report: `python docs/images/make.py reports/demo.repro`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PICTURES = {"totals": "Totals around", "draw": "Row "}
"""File name -> how the picture's description begins; the first one of the report is taken."""


def main(run: str) -> None:
    page = (Path(run) / "report.html").read_text()
    light = dict(re.findall(r"--(\w+):\s*([^;}]+)", page[page.index(".repro {") : page.index("@media")]))
    for name, label in PICTURES.items():
        match = re.search(rf'<svg class="wide"[^>]*aria-label="{label}.*?</svg>', page, re.DOTALL)
        assert match is not None, f"{run} has no picture {name}"
        drawing = re.sub(r"var\(--(\w+)\)", lambda m: light[m[1]].strip().replace('"', "'"), match[0])
        drawing = drawing.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        paper = f'><rect width="100%" height="100%" fill="{light["paper"].strip()}"/>'
        Path(__file__).with_name(f"{name}.svg").write_text(drawing.replace(">", paper, 1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])

"""report.html (first cut)."""

from __future__ import annotations

from html import escape

from harness.result import RunResult
from repro.report.view import RunView


def page(run: RunResult, view: RunView) -> str:
    return f"<!doctype html><meta charset=utf-8><title>{escape(view.headline)}</title><h1>{escape(view.verdict)}</h1>"

"""Which (key, counter) a run touches, by role, and whether any is touched twice."""

from __future__ import annotations

from repro.streams.counters.audit import Reuse, Use, reuses
from repro.streams.counters.progression import Progression
from repro.streams.counters.runs import RUNS, Run

__all__ = ["RUNS", "Progression", "Reuse", "Run", "Use", "reuses"]

"""Random numbers of other systems, re-derived from a seed and the facts that their order depends on.

    stream("torch_cuda", "2.11.0", seed=0, offset=0, sm_count=132, threads_per_sm=2048).uniforms(5)

`ENTRIES` lists what is known; docs/streams.md and `repro streams` are made from it.
"""

from __future__ import annotations

from typing import Any

from deepinfer.errors import unknown_name
from repro.streams.base import Stream
from repro.streams.entry import Entry
from repro.streams.table import ENTRIES

__all__ = ["ENTRIES", "Entry", "Stream", "entry", "stream"]


def stream(engine: str, version: str, **facts: Any) -> Stream:
    """The stream of an engine at a version. Raises InputError for an engine or a version that is not known, and for a
    fact that is missing, unknown or out of range: nothing is guessed."""
    return entry(engine).build(version, facts)


def entry(engine: str) -> Entry:
    """What is known of one engine. Raises InputError if nothing is."""
    for known in ENTRIES:
        if known.engine == engine:
            return known
    raise unknown_name("engine", engine, [known.engine for known in ENTRIES])

"""docs/streams.md, and the lines of `repro streams`, from the table alone."""

from __future__ import annotations

from collections.abc import Iterator

from repro.streams.entry import Entry
from repro.streams.table import ENTRIES

HEAD = """# Streams of other systems

Made from `repro/streams/table.py` by `repro streams --markdown`; a test compares the two. `repro streams` prints the
table, `repro streams ENGINE` one entry. *Verified* means that recorded outputs of the engine's own code are
reproduced by a test; *unverified* entries are written from a source and nothing else. Only the versions listed are
known: no other is assumed.
"""

ROWS = (
    ("Key", "key"),
    ("Counter", "counter"),
    ("Offset unit", "offset_unit"),
    ("Word to float", "float_map"),
    ("What a batch changes", "batch"),
    ("What another GPU changes", "gpu"),
    ("Evidence", "evidence"),
)


def markdown() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_overview(), *(line for entry in ENTRIES for line in _section(entry))]) + "\n"


def lines(entry: Entry) -> Iterator[str]:
    """One entry for a terminal."""
    yield f"{entry.engine} ({entry.status}), versions {', '.join(entry.versions)}"
    for label, name in ROWS:
        yield f"  {label.lower() + ':':<26}{getattr(entry, name)}"
    yield f"  {'sources:':<26}{'; '.join(entry.sources)}"
    yield "  facts:"
    for fact in entry.facts:
        allowed = ", ".join(map(str, fact.choices)) if fact.choices else f"{fact.least} to {_power(fact.most)}"
        yield f"    {fact.name:<16} {fact.meaning}; {fact.where} [{allowed}]"


def _overview() -> Iterator[str]:
    yield "| engine | versions | facts | key | counter | offset unit | status |"
    yield "|---|---|---|---|---|---|---|"
    for entry in ENTRIES:
        cells = (
            f"[{entry.engine}](#{entry.engine})",
            ", ".join(entry.versions),
            ", ".join(f"`{fact.name}`" for fact in entry.facts),
            entry.key,
            entry.counter,
            entry.offset_unit,
            entry.status,
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _section(entry: Entry) -> Iterator[str]:
    yield f"## {entry.engine}"
    yield ""
    yield f"{entry.status.capitalize()}; versions {', '.join(entry.versions)}."
    yield ""
    yield "| | |"
    yield "|---|---|"
    for label, name in ROWS:
        yield f"| {label} | {getattr(entry, name)} |"
    yield f"| Sources | {'; '.join(entry.sources)} |"
    yield ""
    for fact in entry.facts:
        yield f"- `{fact.name}`: {fact.meaning}; find it in {fact.where}"
    yield ""


def _power(number: int) -> str:
    exponent = (number + 1).bit_length() - 1
    return f"2^{exponent} - 1" if number > 2**20 and 2**exponent == number + 1 else str(number)

"""docs/streams.md, and the lines of `repro streams`, from the table alone."""

from __future__ import annotations

from collections.abc import Iterator

from deepinfer.errors import unknown_name
from repro.streams.counters import RUNS, reuses
from repro.streams.edge_words import DRIVEN, WORDS, edges
from repro.streams.entry import Entry, Fact
from repro.streams.samplers import SAMPLERS, Sampler, sampler
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

SHOWN = 6
"""Uses of a run that a terminal shows."""

SAMPLER_HEAD = """# Samplers of other systems

`repro.streams.samplers.replay(engine, version, rows, ...)` gives each row's token with a certificate. *Exact*: only
integers, or arithmetic that is specified to the last bit. *Certain*: no other token is possible while every float lies
within the bound that the replay states. *Ambiguous*: the token is one of a stated set. `repro streams --samplers` lists
them, `repro diagnose` tells which assumption about a run broke.
"""

SAMPLER_ROWS = (
    ("Noise", "noise"),
    ("Token", "rule"),
    ("Filters, in order", "filters"),
    ("Best certificate", "certificate"),
    ("Evidence", "evidence"),
)

EDGE_HEAD = """## Edge words

What each sampler makes of six words (two equal ones where it takes two): a race's noise at one column while the others
get a middling word, and the column that a scan returns from 32 whose first and last are masked. *Unlikely*: a word at
which a column 100 nats behind is drawn; *masked*: one at which a column of probability 0 is drawn (its score is NaN:
torch's argmax takes it, Triton's maximum was not run on it). No sampler gives an id out of range at these words.
"""

COUNTER_HEAD = """## Counters

What a run touches, as boxes of words and subsequences of a key; two uses share randomness exactly where their boxes
meet, which arithmetic on progressions decides for the whole run. *Proven*: no two uses meet. `repro streams --counters`
prints the uses.
"""

NOT_REPRODUCED = """## What is not reproduced

Recorded arrays beside which nothing can be said, and why.

- vLLM V1's rejection sampler with draft probabilities (16 rows on a CPU, 16 on a GPU): the draft probabilities were not
  recorded. With one-hot drafts its tokens, and in both cases its uniforms, are reproduced.
- torch CPU `multinomial` row by row (`multinomial_rows`): its weights were not recorded.
- SGLang's number of kept columns for top_p = 1 on the rank path: it follows the order in which the device adds up the
  row (its own CPU and GPU runs differ on 26 of 64 rows). The recorded number lies between the sure and the possible
  columns on every row; the tokens are reproduced.
- Normals, log-normals, Cauchy and exponential values of GPUs, normals of JAX and of torch's CPU: hardware or vendor
  approximations, within the bounds that the streams state; integers, uniforms and words are exact.
- XLA's `unsafe_rbg` and `rbg` on other backends than a CPU; cuRAND's DYNAMIC ordering.
"""


def markdown() -> str:
    """The whole page."""
    streams = [line for entry in ENTRIES for line in _section(entry)]
    samplers = [line for known in SAMPLERS for line in _sampler_section(known)]
    parts = [*_overview(), *streams, SAMPLER_HEAD, *_sampler_overview(), *samplers, EDGE_HEAD, *_edges()]
    parts += [COUNTER_HEAD, *_counters()]
    return "\n".join([HEAD, *parts, NOT_REPRODUCED])


def lines(entry: Entry) -> Iterator[str]:
    """One entry for a terminal."""
    yield f"{entry.engine} ({entry.status}), versions {', '.join(entry.versions)}"
    for label, name in ROWS:
        yield f"  {label.lower() + ':':<26}{getattr(entry, name)}"
    yield f"  {'sources:':<26}{'; '.join(entry.sources)}"
    yield from _facts(entry.facts)


def sampler_lines(engine: str | None) -> Iterator[str]:
    """The list of samplers, or one of them, for a terminal."""
    if engine is None:
        for known in SAMPLERS:
            yield f"{known.engine:<18}{', '.join(known.versions):<40}{known.certificate:<9}{known.status}"
        return
    known = sampler(engine)
    yield f"{known.engine} ({known.status}), versions {', '.join(known.versions)}, takes {known.rows}"
    for label, name in SAMPLER_ROWS:
        yield f"  {label.lower() + ':':<26}{getattr(known, name)}"
    yield f"  {'sources:':<26}{'; '.join(known.sources)}"
    yield from _facts(known.facts)


def _facts(facts: tuple[Fact, ...]) -> Iterator[str]:
    yield "  facts:"
    for fact in facts:
        allowed = ", ".join(map(str, fact.choices)) if fact.choices else f"{fact.least} to {_power(fact.most)}"
        each = ", one a row" if fact.per_row else ""
        yield f"    {fact.name:<16} {fact.meaning}; {fact.where} [{allowed}{each}]"


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


def _sampler_overview() -> Iterator[str]:
    yield "| sampler | versions | takes | facts | noise | best certificate | status |"
    yield "|---|---|---|---|---|---|---|"
    for known in SAMPLERS:
        cells = (
            known.engine,
            ", ".join(known.versions),
            known.rows,
            ", ".join(f"`{fact.name}`" for fact in known.facts),
            known.noise,
            known.certificate,
            known.status,
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _sampler_section(known: Sampler) -> Iterator[str]:
    yield f"### Sampler {known.engine}"
    yield ""
    yield f"{known.status.capitalize()}; versions {', '.join(known.versions)}; takes {known.rows}."
    yield ""
    yield "| | |"
    yield "|---|---|"
    for label, name in SAMPLER_ROWS:
        yield f"| {label} | {getattr(known, name)} |"
    yield f"| Sources | {'; '.join(known.sources)} |"
    yield ""
    for fact in known.facts:
        yield f"- `{fact.name}`{' (one a row)' if fact.per_row else ''}: {fact.meaning}; find it in {fact.where}"
    yield ""


def _edges() -> Iterator[str]:
    yield "| sampler | version | kind | " + " | ".join(f"`{word:08x}`" for word in WORDS) + " | unlikely | masked |"
    yield "|---" * (5 + len(WORDS)) + "|"
    found = edges()
    for made in DRIVEN:
        own = [edge for edge in found if (edge.engine, edge.version) == (made.engine, made.version)]
        values = [f"{edge.value:.2f}" if made.noise else f"{edge.value:.0f}" for edge in own]
        marks = [
            ", ".join(f"`{edge.word:08x}`" for edge in own if getattr(edge, name)) for name in ("behind", "masked")
        ]
        cells = (made.engine, made.version, "noise" if made.noise else "column", *values, *(m or "no" for m in marks))
        yield f"| {' | '.join(cells)} |"
    yield ""


def counter_lines(engine: str | None) -> Iterator[str]:
    """Uses and shared counters of every run, or of one engine's, for a terminal."""
    runs = [run for run in RUNS if engine in (None, run.engine)]
    if not runs:
        raise unknown_name("engine of a counter audit", engine, list(dict.fromkeys(run.engine for run in RUNS)))
    for run in runs:
        uses = list(run.uses())
        found = reuses(uses)
        yield f"{run.engine} {run.versions}: {run.scenario}: {len(uses)} uses, {len(found)} shared"
        for use in uses[:SHOWN]:
            yield f"  {use}"
        if len(uses) > SHOWN:
            yield f"  and {len(uses) - SHOWN} more uses"
        if found:
            yield f"  shared: {found[0]}" + (f", and {len(found) - 1} more" if len(found) > 1 else "")
            yield f"  {run.reuse}"


def _counters() -> Iterator[str]:
    yield "| engine | versions | run | shared | example | what it means | source |"
    yield "|---|---|---|---|---|---|---|"
    for run in RUNS:
        found = reuses(run.uses())
        example = str(found[0]) if found else "proven: none"
        cells = (run.engine, run.versions, run.scenario, str(len(found)), example, run.reuse or "-", run.source)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _power(number: int) -> str:
    exponent = (number + 1).bit_length() - 1
    return f"2^{exponent} - 1" if number > 2**20 and 2**exponent == number + 1 else str(number)

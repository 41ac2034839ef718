"""`repro streams`: how other systems number and map their random words, and the words themselves."""

from __future__ import annotations

import sys
from typing import Any

import click

from deepinfer.errors import InputError

KINDS = ("words", "uniforms", "normals", "exponentials")


@click.command()
@click.argument("engine", required=False)
@click.option("--version", "version", help="Version of the engine; needed to print values.")
@click.option("--fact", "facts", multiple=True, metavar="NAME=VALUE", help="A fact the stream depends on; repeat it.")
@click.option("--as", "kind", type=click.Choice(KINDS), default="words", show_default=True)
@click.option("-n", "--count", type=int, help="Print this many values instead of the entry.")
@click.option("--samplers", is_flag=True, help="List the samplers, or show the sampler ENGINE.")
@click.option("--counters", is_flag=True, help="Which counters runs touch, of ENGINE or of all, and which are shared.")
@click.option("--markdown", is_flag=True, help="Print docs/streams.md.")
def streams(
    engine: str | None,
    version: str | None,
    facts: tuple[str, ...],
    kind: str,
    count: int | None,
    samplers: bool,
    counters: bool,
    markdown: bool,
) -> int:
    """List the random streams that are known, show what ENGINE depends on, or print its values.

    repro streams torch_cuda --version 2.11.0 --fact seed=0 --fact offset=0 --fact sm_count=132
    --fact threads_per_sm=2048 --as uniforms -n 5
    """
    from repro.report.terminal import aligned
    from repro.streams import ENTRIES, entry, page

    if markdown:
        sys.stdout.write(page.markdown())
        return 0
    if counters:
        print("\n".join(page.counter_lines(engine)))
        return 0
    if samplers:
        print("\n".join(page.sampler_lines(engine)))
        return 0
    if engine is None:
        head = ("engine", "versions", "status", "offset unit", "facts")
        rows = [
            (x.engine, ", ".join(x.versions), x.status, x.offset_unit, ", ".join(fact.name for fact in x.facts))
            for x in ENTRIES
        ]
        print("\n".join(aligned([head, *rows])))
        return 0
    chosen = entry(engine)
    if count is None:
        print("\n".join(page.lines(chosen)))
        return 0
    if version is None:
        raise InputError(f"no version of {engine}: give --version, one of {', '.join(chosen.versions)}")
    if count < 1:
        raise InputError(f"count is {count}: give -n 1 or more")
    built = chosen.build(version, dict(_fact(text) for text in facts))
    for value in getattr(built, kind)(count):
        print(f"{int(value):0{2 * value.dtype.itemsize}x}" if value.dtype.kind == "u" else value)
    return 0


def _fact(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"fact {text!r}: give NAME=VALUE")
    if value in ("True", "False"):
        return name, value == "True"
    try:
        return name, int(value, 0)
    except ValueError:
        return name, value

"""`repro sample`: one token for each row of a file, in chunks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deepinfer.errors import InputError

if TYPE_CHECKING:
    from deepinfer.sampling import SampleResult
    from repro.cli.logits import LogitsFile

CHUNK_BYTES = 1 << 23
"""Logits held at a time; a sampler's record is a few times that."""


@click.command()
@click.argument("logits", type=click.Path(path_type=Path))
@click.option("--seed", type=int, help="Seed of every row. Required unless the file has `seeds`.")
@click.option(
    "--positions",
    type=click.IntRange(0, 2**62 - 1),
    metavar="FIRST",
    help="Row i has position FIRST + i. [default: `positions`, or 0]",
)
@click.option("--sampler", default="exact_sample", show_default=True)
@click.option("--backend", default="native", show_default=True)
@click.option("--temperature", type=float, default=1.0, show_default=True, help="0 is greedy.")
@click.option("--top-p", type=float, default=1.0, show_default=True, help="1 is off.")
@click.option("--top-k", type=int, default=-1, show_default=True, help="-1 is off.")
@click.option("--min-p", type=float, default=0.0, show_default=True, help="0 is off.")
@click.option("--draw", default="modulo_reject", show_default=True, help="Draw rule of the float samplers.")
@click.option("--numbering", default="absolute", show_default=True)
@click.option("--filter-order", default="joint", show_default=True)
@click.option(
    "--on-error",
    type=click.Choice(["raise", "mask"]),
    default="raise",
    show_default=True,
    help="A row that cannot be sampled: stop, or token -1 and its status.",
)
@click.option("--out", type=click.Path(path_type=Path), help="A .parquet or .jsonl file. [default: JSON lines]")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar.")
def sample(
    logits: Path,
    seed: int | None,
    positions: int | None,
    sampler: str,
    backend: str,
    on_error: str,
    out: Path | None,
    quiet: bool,
    **params: Any,
) -> int:
    """Draw one token for each row of LOGITS (.npz, .safetensors or .parquet with `logits` float32[rows, columns]).

    The file may also hold `seeds` and `positions`, one integer a row. Memory does not grow with the file.
    """
    from repro.cli.logits import open_logits
    from repro.cli.progress import bar
    from repro.cli.rows_out import rows_sink

    file = open_logits(logits)
    for option, name, given in (("--seed", "seeds", seed), ("--positions", "positions", positions)):
        if given is not None and name in file.extras:
            raise InputError(f"{logits} holds `{name}` and {option} is {given}: leave out the one or the other")
    if seed is None and "seeds" not in file.extras:
        raise InputError(f"no seed: give --seed, or an array `seeds` of {file.rows} integers in {logits}")
    size = max(1, CHUNK_BYTES // (4 * file.columns))
    masked = 0
    with rows_sink(out, sys.stdout) as sink, bar("sampling", file.rows, "rows", quiet) as advance:
        start = 0
        for chunk in file.chunks(size):
            result = _draw(file, chunk, start, seed, positions or 0, sampler, backend, params)
            masked += _write(sink, result, start, on_error)
            start += len(chunk)
            advance(len(chunk))
    if masked:
        print(f"repro: {masked} of {file.rows} rows have no token: see their status", file=sys.stderr)
    return 0


def _draw(
    file: LogitsFile,
    chunk: Any,
    start: int,
    seed: int | None,
    first: int,
    sampler: str,
    backend: str,
    params: dict[str, Any],
) -> SampleResult:
    import numpy as np

    from deepinfer.sampling import SamplerInputs
    from deepinfer.sampling import sample as draw

    here = slice(start, start + len(chunk))
    position = file.extras["positions"][here] if "positions" in file.extras else np.arange(len(chunk)) + (first + start)
    inputs = SamplerInputs(
        chunk,
        temperature=params["temperature"],
        top_p=params["top_p"],
        top_k=params["top_k"],
        seq_seed=seed if seed is not None else file.extras["seeds"][here],
        position=position,
    )
    options = {name: params[name] for name in ("draw", "numbering", "filter_order", "min_p")}
    return draw(sampler, inputs, backend=backend, on_error="mask", **options)


def _write(sink: Any, result: SampleResult, start: int, on_error: str) -> int:
    """Hand one chunk to `sink` and return how many of its rows have no token; under `raise` the first is an error."""
    import numpy as np

    from deepinfer.sampling.params import STATUS

    status, tokens = result.record.status, result.tokens
    bad = np.flatnonzero(status)
    if bad.size and on_error == "raise":
        row = int(bad[0])
        raise InputError(
            f"row {start + row}: {STATUS[int(status[row])]}: mend the row, or answer the others with --on-error mask"
        )
    assert result.logprobs is not None
    logprob = result.logprobs[np.arange(len(tokens)), np.maximum(tokens, 0)]
    shown = [float(str(value)) if token >= 0 else None for value, token in zip(logprob, tokens, strict=True)]
    sink(
        {
            "row": range(start, start + len(tokens)),
            "token": tokens.tolist(),
            "logprob": shown,
            "status": [STATUS[code] for code in status.tolist()],
        }
    )
    return int(bad.size)

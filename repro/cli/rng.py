"""`repro rng`: words of one stream, and the same words from NVIDIA's own code beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from deepinfer.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = ("u32", "uniform", "uniform_double", "uniform2_double", "normal")
NORMAL_ULP = 4
"""cuRAND's normals use float32 log and sine; 3 units in the last place is the most that was seen on a CPU."""
SHOWN = 20
"""Mismatches that --quiet prints."""


def u64(text: str) -> int:
    """An integer, decimal or 0x...; its range is the library's to check."""
    try:
        return int(text, 0)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no integer: give 0 to 2^64 - 1, decimal or 0x...") from None


@click.command()
@click.option("--seed", type=u64, default="0", show_default=True)
@click.option("--subsequence", type=u64, default="0", show_default=True)
@click.option("--offset", type=u64, default="0", show_default=True, help="Where to start, in words.")
@click.option("-n", "--count", type=int, default=8, show_default=True, help="How many values.")
@click.option("--as", "kind", type=click.Choice(KINDS), default="u32", show_default=True)
@click.option("--backend", default="reference", show_default=True, help="reference, native, torch, triton or cuda.")
@click.option("--compare", type=click.Choice(["curand-host", "curand-device"]), help="Needs the extra `oracle`.")
@click.option(
    "--ordering",
    type=click.Choice(["default", "best", "legacy"]),
    default="default",
    show_default=True,
    help="Of curand-host.",
)
@click.option(
    "--ulp", type=int, help=f"Allowed difference in units in the last place. [default: 0; {NORMAL_ULP} for normal]"
)
@click.option("-q", "--quiet", is_flag=True, help=f"With --compare: only mismatches, the first {SHOWN}.")
def rng(
    seed: int,
    subsequence: int,
    offset: int,
    count: int,
    kind: str,
    backend: str,
    compare: str | None,
    ordering: str,
    ulp: int | None,
    quiet: bool,
) -> int:
    """Print values of the Philox4x32-10 stream (SEED, SUBSEQUENCE), words in hexadecimal.

    curand-device stands for curand_init(seed, subsequence, offset) and the call for the kind; curand-host for
    curandGenerate, whose order of words is another (docs/spec/rng.md, section 5): there `ours` is that order too, and
    the offset counts outputs. Exit code 0: equal; 1: different.
    """
    if count < 1:
        raise InputError(f"count is {count}, so there is nothing to show or compare: give -n 1 or more")
    if ulp is not None and ulp < 0:
        raise InputError(f"ulp is {ulp}: give 0 or more")
    if compare != "curand-host":
        ours = _stream(seed, subsequence, offset, count, kind, backend)
    else:
        ours = _host_order(seed, subsequence, offset, count, kind, backend)
    if compare is None:
        print("\n".join(_text(ours)))
        return 0
    theirs = _oracle(compare, seed, subsequence, offset, count, kind, ordering)
    allowed = ulp if ulp is not None else NORMAL_ULP if kind == "normal" else 0
    return _compare(ours, theirs, allowed, compare, quiet)


def _stream(seed: int, subsequence: int, offset: int, count: int, kind: str, backend: str) -> NDArray[Any]:
    from deepinfer import rng as streams

    function = streams.words if kind == "u32" else getattr(streams, kind)
    values: NDArray[Any] = function(streams.StreamKey(seed, subsequence), offset, count, backend)
    return values


def _host_order(seed: int, subsequence: int, offset: int, count: int, kind: str, backend: str) -> NDArray[Any]:
    from deepinfer.rng.curand_host import curand_host_values
    from deepinfer.rng.curand_oracle import HOST_KINDS

    if kind not in HOST_KINDS:
        raise InputError(f"curand-host has no {kind}: give --as {', '.join(HOST_KINDS)}, or --compare curand-device")
    if subsequence:
        raise InputError(f"subsequence is {subsequence}: curand-host uses all of them in turn, leave it at 0")
    return curand_host_values(seed, offset, count, kind, backend)


def _oracle(
    compare: str, seed: int, subsequence: int, offset: int, count: int, kind: str, ordering: str
) -> NDArray[Any]:
    from deepinfer.rng import curand_oracle

    if compare == "curand-host":
        return curand_oracle.curand_host(seed, offset, count, ordering, kind)
    return curand_oracle.curand_device(seed, subsequence, offset, count, kind)


def _compare(ours: NDArray[Any], theirs: NDArray[Any], allowed: int, name: str, quiet: bool) -> int:
    from harness.bits import ulp_distance

    distance = ulp_distance(theirs, ours)
    wrong = distance > allowed
    rows = [i for i in range(len(ours)) if wrong[i] or not quiet]
    if rows and quiet:
        rows = rows[:SHOWN]
    if rows:
        print(f"{'index':>8}  {'ours':<24}  {name:<24}")
    for i, left, right in zip(rows, _text(ours[rows]), _text(theirs[rows]), strict=True):
        print(f"{i:>8}  {left:<24}  {right:<24}  {'!=' if wrong[i] else ''}".rstrip())
    bad = int(wrong.sum())
    unit = "" if ours.dtype.kind == "u" else f"; largest difference {int(distance.max())} ULP, allowed {allowed}"
    print(f"{len(ours) - bad} of {len(ours)} equal to {name}, {bad} different{unit}")
    return 1 if bad else 0


def _text(values: NDArray[Any]) -> Iterator[str]:
    for value in values:
        yield f"{int(value):08x}" if values.dtype.kind == "u" else str(value)

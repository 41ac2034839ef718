"""`fused_sample` in one Triton kernel: numpy arrays in and out, or tensors on the GPU without a copy.

No float is summed in an order of its own: exponentials are summed as integers in units of 2^-37, each rounded to the
nearest (order id `fixed37`), so a result depends on the device's exp alone, not on tile, rows a program or warps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.sampling.fused_sample.triton_kernel import fused_sample_kernel
from deepinfer.sampling.params import Plan
from deepinfer.sampling.result import MAX_WORDS, SampleResult, allocate
from deepinfer.sampling.spec import TILED_FROM, TILED_LANES
from deepinfer.sampling.triton_call import Arrays, interpreted, launch

ORDER = "fixed37"
MOST_COLUMNS = 2**20
ONE_TILE = 4096
LOOKS = 8
"""How often the search for a threshold looks at the thirds of its bracket before it looks at the logits in it."""
GROUPS = 32
"""Lanes in which the search then expects no more than one logit each; without a cost where they lie in every warp."""
INTERPRETED_ELEMENTS = 2**19
"""Elements a program has in the interpreter, where each operation costs the same for one row as for many."""

RECORD = (
    *("kept_columns", "weights", "lse", "lse0", "thresholds", "sels", "totals", "limits", "residues"),
    *("words", "word_counts", "purposes", "accept_words"),
)
"""The kernel's outputs that `sample_tensors` does without."""


@dataclass(frozen=True)
class Shape:
    """How the kernel is cut up: `rows` a program, columns a `tile`, `warps` (powers of two), and the most `registers` a
    thread may have (None: any). It changes no result."""

    rows: int
    tile: int
    warps: int
    registers: int | None = None


def shape_of(count: int, columns: int, rows: int | None, tile: int | None, warps: int | None) -> Shape:
    """The shape by table, with what is given in its place: a row of up to 4096 columns in one tile, short rows several
    to a program. Raises InputError for what is no power of two."""
    size = tile or min(_power(columns), ONE_TILE)
    if interpreted():
        table = Shape(min(max(INTERPRETED_ELEMENTS // size, 1), _power(max(count, 1))), size, 1)
    else:
        table = Shape(min(max(512 // size, 1), 8), size, 4 if columns <= ONE_TILE else 8)
    shape = Shape(rows or table.rows, size, warps or table.warps)
    if (size, columns <= ONE_TILE, shape.warps) == (ONE_TILE, True, 4):
        shape = replace(shape, registers=128)  # four programs to a multiprocessor
    for name in ("rows", "tile", "warps"):
        value = getattr(shape, name)
        if value < 1 or value & (value - 1):
            raise InputError(f"{name} is {value}: give a power of two")
    return shape


def sample(
    plan: Plan,
    *,
    detail: str = "full",
    device: str | None = None,
    rows: int | None = None,
    tile: int | None = None,
    warps: int | None = None,
) -> SampleResult:
    """Sample or verify every row of `plan` whose status is OK, on `device` (None: the interpreter's, or `cuda`).

    `rows`, `tile` and `warps` replace those of `shape_of`. Raises InputError for more than 2^20 columns.
    """
    count, columns = plan.shape
    if columns > MOST_COLUMNS:
        raise InputError(f"logits have {columns} columns: fused_sample on triton allows at most {MOST_COLUMNS}")
    shape = shape_of(count, columns, rows, tile, warps)
    out = allocate(plan, "fused_sample", "triton", ORDER, detail=detail, weight_dtype=np.uint32)
    with Arrays(device) as arrays:
        tensors = {name: arrays.input(x) for name, x in _given(plan).items()}
        tensors |= {name: arrays.output(x) for name, x in _made(out).items()}
        run_kernel(shape, tensors, stride=1, draw=plan.draw, filter_order=plan.filter_order, min_p31=plan.min_p31)
    out.record.subsequences[...] += out.record.purpose.astype(np.uint64)
    return out


def _given(plan: Plan) -> dict[str, NDArray[Any] | None]:
    """The kernel's inputs by name."""
    return {
        "logits": plan.logits,
        "temperature": plan.temperature,
        "top_p": plan.top_p,
        "top_k": plan.ks,
        "seeds": plan.seeds.view(np.int64),
        "places": plan.subsequences.view(np.int64),
        "draft_logprobs": plan.draft_logprobs,
        "draft_ids": plan.draft_ids,
        "is_verify": plan.is_verify,
    }


def _made(out: SampleResult) -> dict[str, NDArray[Any] | None]:
    """The kernel's outputs by name."""
    record = out.record
    return {
        "tokens": out.tokens,
        "statuses": record.status,
        "logprobs": out.logprobs,
        "kept_columns": record.kept,
        "weights": record.weights,
        "lse": record.lse,
        "lse0": record.lse0,
        "thresholds": record.threshold,
        "sels": record.sel,
        "totals": record.total,
        "limits": record.limit,
        "residues": record.residue,
        "words": record.words,
        "word_counts": record.word_count,
        "purposes": record.purpose,
        "accept_words": record.accept_word,
        "accepts": out.accept,
        "accept_probs": out.accept_prob,
        "draft_values": out.draft_logprob,
    }


def run_kernel(
    shape: Shape, tensors: dict[str, Any], *, stride: int, draw: str, filter_order: str, min_p31: int
) -> None:
    """Launch the kernel on tensors by parameter name. What is None is not stored; RECORD's may be left out together."""
    count, columns = tensors["logits"].shape
    tensors = {**dict.fromkeys(RECORD), **tensors}
    lanes = TILED_LANES if columns >= TILED_FROM else 0
    launch(
        fused_sample_kernel,
        -(-count // shape.rows),
        tensors["logits"].device,
        **tensors,
        count=count,
        columns=columns,
        stride=stride,
        min_p31=min_p31,
        top_k_first=filter_order == "top_k_first",
        multiply_shift=draw == "multiply_shift",
        verify=tensors["is_verify"] is not None,
        want_logprobs=tensors["logprobs"] is not None,
        want_kept=tensors["kept_columns"] is not None,
        want_weights=tensors["weights"] is not None,
        record=tensors["lse"] is not None,
        most_words=MAX_WORDS,
        rows=shape.rows,
        tile=shape.tile,
        lanes=lanes,
        depth=min(_power(-(-columns // TILED_LANES)), 64),
        steps=LOOKS,
        groups=GROUPS,
        runs=128 * shape.warps,
        num_warps=shape.warps,
        **({} if shape.registers is None or interpreted() else {"maxnreg": shape.registers}),
    )


def _power(number: int) -> int:
    """The least power of two that is not below `number`."""
    return 1 << (number - 1).bit_length()

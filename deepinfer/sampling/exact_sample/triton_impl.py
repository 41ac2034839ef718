"""`exact_sample` in one Triton kernel, in the interpreter or on a GPU: the reference's bits on either."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from deepinfer.errors import InputError
from deepinfer.sampling.exact_sample import spec
from deepinfer.sampling.exact_sample.triton_kernel import exact_sample_kernel
from deepinfer.sampling.exact_sample.verify import write_verification
from deepinfer.sampling.params import Plan
from deepinfer.sampling.result import MAX_WORDS, SampleResult, allocate
from deepinfer.sampling.spec import EXACT_SHIFT
from deepinfer.sampling.triton_call import Arrays, interpreted, launch

ONE_TILE = 4096
HALVINGS = 12
"""How often the search for a threshold first looks at the middle of values; in the interpreter, where many rows share a
program and some need every key, never."""
INTERPRETED_ELEMENTS = 2**17
"""Elements a program has in the interpreter, where an operation costs the same for one row as for many."""


@dataclass(frozen=True)
class Shape:
    """How the kernel is cut up: `rows` a program, columns a `tile` (powers of two), warps. It changes no bit."""

    rows: int
    tile: int
    warps: int


def shape_of(count: int, columns: int, rows: int | None, tile: int | None, warps: int | None) -> Shape:
    """The shape by table, with what is given in its place: a row of up to 4096 columns in one tile, short rows several
    to a program. Raises InputError for what is no power of two."""
    size = tile or min(_power(columns), ONE_TILE)
    if interpreted():
        table = Shape(min(max(INTERPRETED_ELEMENTS // size, 1), _power(max(count, 1))), size, 1)
    else:
        table = Shape(max(512 // size, 1), size, 4 if columns <= ONE_TILE else 8)
    shape = Shape(rows or table.rows, size, warps or table.warps)
    for name, value in asdict(shape).items():
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
    """As deepinfer.sampling.exact_sample.reference.sample, bit for bit, on `device` (None: the interpreter's `cpu`, or
    `cuda`). `rows`, `tile` and `warps` replace those of `shape_of`."""
    count, columns = plan.shape
    shape = shape_of(count, columns, rows, tile, warps)
    out = allocate(plan, "exact_sample", "triton", spec.ORDER, detail=detail, weight_dtype=np.uint64)
    record = out.record
    draft_weight = np.zeros(count, np.uint64)
    with Arrays(device) as arrays:
        launch(
            exact_sample_kernel,
            -(-count // shape.rows),
            arrays.device,
            logits=arrays.input(plan.logits),
            temperature=arrays.input(plan.temperature),
            top_p=arrays.input(plan.top_p),
            top_k=arrays.input(plan.ks),
            seeds=arrays.input(plan.seeds.view(np.int64)),
            places=arrays.input(plan.subsequences.view(np.int64)),
            statuses=arrays.input(plan.status),
            draft_ids=arrays.input(plan.draft_ids),
            tokens=arrays.output(out.tokens),
            totals=arrays.output(record.total),
            residues=arrays.output(record.residue),
            words=arrays.output(record.words),
            word_counts=arrays.output(record.word_count),
            thresholds=arrays.output(record.threshold),
            sels=arrays.output(record.sel),
            draft_weights=arrays.output(draft_weight),
            logprobs_out=arrays.output(out.logprobs),
            kept_out=arrays.output(record.kept),
            weights_out=arrays.output(record.weights),
            count=count,
            columns=columns,
            stride=1,
            min_weight=plan.min_p31 << (EXACT_SHIFT - 31),
            top_k_first=plan.filter_order == "top_k_first",
            verify=plan.draft_ids is not None,
            record=True,
            full=detail == "full",
            most_words=MAX_WORDS,
            halvings=0 if interpreted() else HALVINGS,
            rows=shape.rows,
            tile=shape.tile,
            single=columns <= shape.tile,
            num_warps=shape.warps,
        )
    write_verification(plan, out, draft_weight)
    return out


def _power(number: int) -> int:
    """The least power of two that is not below `number`."""
    return 1 << (number - 1).bit_length()

"""What a sampler is given: checked once, here, and handed to every backend as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepinfer.errors import InputError, unknown_name
from deepinfer.rng.spec import FRESH, check_numbering, request_subsequences
from deepinfer.sampling import checks
from deepinfer.sampling.spec import DRAWS, FILTER_ORDERS, FLOAT_MAX, GREEDY_BELOW, MAX_COLUMNS, ONE

OK, NAN, POS_INF, ALL_NEG_INF, ZERO_TOTAL = range(5)
STATUS = ("ok", "NaN in the logits", "+inf in the logits", "all logits are -inf", "every weight is zero")


@dataclass(frozen=True)
class SamplingParams:
    """The sampling parameters of one request. `seq_seed` is any integer of 64 bits."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    seq_seed: int = 0

    def __post_init__(self) -> None:
        checks.temperature(np.asarray([self.temperature]))
        checks.top_p(np.asarray([self.top_p]))
        checks.top_k(np.asarray([self.top_k]))
        checks.min_p(self.min_p)
        checks.seeds(np.asarray([self.seq_seed], object))


@dataclass(frozen=True)
class SamplerInputs:
    """One row per token: `logits` float32[Q, V]; the others have Q entries or are scalars that broadcast.

    `temperature` >= 0 and `top_p` in (0, 1] become float32; `top_k` is -1 (off) or >= 1; `seq_seed` is unsigned
    64-bit; `position` counts tokens of the request's own sequence. Verification rows add `draft_logprobs`
    float32[Q, V], `draft_ids` int32[Q] (-1: none) and `is_verify` bool[Q]; `block_base` and `block_row` matter to
    numbering `deepinfer` alone. The arrays are not copied and never written.
    """

    logits: NDArray[np.float32]
    temperature: ArrayLike = 1.0
    top_p: ArrayLike = 1.0
    top_k: ArrayLike = -1
    seq_seed: ArrayLike = 0
    position: ArrayLike = 0
    draft_logprobs: NDArray[np.float32] | None = None
    draft_ids: ArrayLike | None = None
    is_verify: ArrayLike | None = None
    block_base: ArrayLike | None = None
    block_row: ArrayLike | None = None

    def rows(self, index: Any) -> SamplerInputs:
        """The same request rows, selected by a slice or an index array."""
        count = np.shape(self.logits)[0]
        picked: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            picked[field.name] = value[index] if np.ndim(value) and np.shape(value)[0] == count else value
        return SamplerInputs(**picked)


@dataclass(frozen=True)
class Plan:
    """Checked inputs with the integer parameters of docs/spec/sampling.md; what a backend receives.

    Every array is C-contiguous and has Q rows. Columns whose filter is off carry the value that disables it, and
    `cut` says whether any filter of the row is on. Rows whose `status` is not OK are not computed.
    """

    logits: NDArray[np.float32]
    inv_temperature: NDArray[np.float32]
    temperature: NDArray[np.float32]
    top_p: NDArray[np.float32]
    ps: NDArray[np.uint32]
    ks: NDArray[np.int64]
    cut: NDArray[np.bool_]
    min_p31: int
    greedy: NDArray[np.bool_]
    seeds: NDArray[np.uint64]
    subsequences: NDArray[np.uint64]
    status: NDArray[np.int32]
    draw: str
    numbering: str
    filter_order: str
    draft_logprobs: NDArray[np.float32] | None = None
    draft_ids: NDArray[np.int32] | None = None
    is_verify: NDArray[np.bool_] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.logits.shape[0], self.logits.shape[1]


def prepare(
    name: str,
    inputs: SamplerInputs,
    *,
    draw: str = "modulo_reject",
    numbering: str = "absolute",
    filter_order: str = "joint",
    min_p: float | None = None,
    on_error: str = "raise",
) -> Plan:
    """Check `inputs` for sampler `name` and turn them into a Plan. Raises InputError naming the first bad row."""
    if draw not in DRAWS:
        raise unknown_name("draw rule", draw, DRAWS)
    if filter_order not in FILTER_ORDERS:
        raise unknown_name("filter order", filter_order, FILTER_ORDERS)
    if on_error not in ("raise", "mask"):
        raise unknown_name("on_error", on_error, ("raise", "mask"))
    check_numbering(numbering)
    logits = checks.matrix("logits", inputs.logits)
    rows, columns = logits.shape
    if columns > MAX_COLUMNS[name]:
        raise InputError(f"logits have {columns} columns: {name} allows at most {MAX_COLUMNS[name]}")

    temperature = checks.temperature(checks.column("temperature", inputs.temperature, rows))
    top_p = checks.top_p(checks.column("top_p", inputs.top_p, rows))
    top_k = checks.top_k(checks.column("top_k", inputs.top_k, rows))
    seeds = checks.seeds(checks.column("seq_seed", inputs.seq_seed, rows))
    position = checks.integers("position", checks.column("position", inputs.position, rows))
    block_base = checks.optional_integers("block_base", inputs.block_base, rows)
    block_row = checks.optional_integers("block_row", inputs.block_row, rows)

    if numbering == "deepinfer":
        cold = temperature < GREEDY_BELOW
        temperature = np.where(cold, GREEDY_BELOW, temperature)
        top_p = np.where(cold, np.float32(1), top_p)
        top_k = np.where(cold, -1, top_k)
    greedy = temperature == 0
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.minimum(np.float32(1) / temperature, FLOAT_MAX)
    p_on = top_p < 1
    k_on = (top_k >= 1) & (top_k < columns)
    min_p31 = int(np.floor(np.float64(checks.min_p(min_p or 0.0)) * ONE))
    ps = np.where(p_on, np.floor(top_p.astype(np.float64) * ONE) + 1, ONE).astype(np.uint32)
    plan = Plan(
        logits=logits,
        inv_temperature=inverse.astype(np.float32),
        temperature=temperature.astype(np.float32),
        top_p=top_p.astype(np.float32),
        ps=ps,
        ks=np.where(k_on, top_k, columns + 1).astype(np.int64),
        cut=(p_on | k_on | (min_p31 > 0)) & ~greedy,
        min_p31=min_p31,
        greedy=greedy,
        seeds=seeds,
        subsequences=request_subsequences(position, FRESH, numbering, block_base, block_row),
        status=row_status(logits),
        draw=draw,
        numbering=numbering,
        filter_order=filter_order,
        **_verification(inputs, rows, columns),
    )
    if on_error == "raise":
        raise_for_status(plan.status)
    return plan


def row_status(logits: NDArray[np.float32]) -> NDArray[np.int32]:
    """OK, or why a row cannot be sampled, int32[Q]."""
    highest = logits.max(axis=1)  # NaN propagates
    status = np.where(np.isnan(highest), NAN, OK)
    status = np.where(highest == np.inf, POS_INF, status)
    return np.where(highest == -np.inf, ALL_NEG_INF, status).astype(np.int32)


def raise_for_status(status: NDArray[np.int32]) -> None:
    """Raise InputError for the first row that could not be sampled."""
    bad = np.flatnonzero(status)
    if bad.size:
        row = int(bad[0])
        more = f" (and {bad.size - 1} more rows)" if bad.size > 1 else ""
        raise InputError(
            f"row {row}: {STATUS[int(status[row])]}{more}: give finite or -inf logits, at least one finite, "
            "or answer the other rows with on_error='mask'"
        )


def _verification(inputs: SamplerInputs, rows: int, columns: int) -> dict[str, Any]:
    given = (inputs.draft_logprobs, inputs.draft_ids, inputs.is_verify)
    if all(part is None for part in given):
        return {}
    if any(part is None for part in given):
        raise InputError("verification needs draft_logprobs, draft_ids and is_verify together")
    draft_logprobs = checks.matrix("draft_logprobs", inputs.draft_logprobs)
    if draft_logprobs.shape != (rows, columns):
        raise InputError(f"draft_logprobs have shape {draft_logprobs.shape}: give {(rows, columns)}, as the logits")
    verify = np.ascontiguousarray(checks.column("is_verify", inputs.is_verify, rows))
    if verify.dtype != np.bool_:
        raise InputError(f"is_verify has dtype {verify.dtype}: give bool")
    checks.refuse("draft_logprobs", np.arange(rows), verify & np.isnan(draft_logprobs).any(axis=1), "no NaN")
    ids = checks.integers("draft_ids", checks.column("draft_ids", inputs.draft_ids, rows))
    checks.refuse("draft_ids", ids, (ids < -1) | (ids >= columns), f"-1 (none) or a column below {columns}")
    return {"draft_logprobs": draft_logprobs, "draft_ids": ids.astype(np.int32), "is_verify": verify}

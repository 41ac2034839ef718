"""What a sampler returns: tokens, log-probabilities, and every intermediate that decided a token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import unknown_name
from deepinfer.sampling.params import Plan

DETAILS = ("full", "tokens")
"""`full` fills logprobs, kept and weights; `tokens` leaves those three None and fills the rest."""


@dataclass(frozen=True)
class Record:
    """How each row's token came about; arrays have one entry a row, in the numbers of docs/spec/sampling.md.

    `lse` float32[Q, 2] is (lse0 before renormalisation, lse1), `lse0` float32[Q] the one in force for the draw.
    `threshold` float32[Q] is the last kept logit (-inf: none), `sel` int64[Q] how many of its ties are kept.
    `kept` bool[Q, V]; `weights` uint32[Q, V] (uint64 in `exact_sample`), in column order; `total`, `limit`, `residue`
    uint64[Q]; `words` uint32[Q, n] the words drawn in order, of which the first `word_count` int32[Q] are the row's
    (0: greedy). `purpose` int32[Q] names the stream (0 fresh, 1 residual); `accept_word` uint32[Q] the acceptance
    word where one was drawn. `order` names the order in which floats were summed; `status` int32[Q] is OK or why
    the row has no token. In `exact_sample` the float fields are NaN and `limit` is 0.
    """

    sampler: str
    backend: str
    draw: str
    numbering: str
    filter_order: str
    order: str
    seeds: NDArray[np.uint64]
    subsequences: NDArray[np.uint64]
    status: NDArray[np.int32]
    lse: NDArray[np.float32]
    lse0: NDArray[np.float32]
    threshold: NDArray[np.float32]
    sel: NDArray[np.int64]
    total: NDArray[np.uint64]
    limit: NDArray[np.uint64]
    residue: NDArray[np.uint64]
    words: NDArray[np.uint32]
    word_count: NDArray[np.int32]
    purpose: NDArray[np.int32]
    kept: NDArray[np.bool_] | None = None
    weights: NDArray[Any] | None = None
    accept_word: NDArray[np.uint32] | None = None


@dataclass(frozen=True)
class SampleResult:
    """`tokens` int32[Q] (-1 for a masked row), `logprobs` float32[Q, V] of the processed distribution (-inf: dropped;
    None with detail="tokens"), `record`, and for verification rows `accept` bool[Q], `accept_prob` float32[Q],
    `draft_logprob` float32[Q]."""

    tokens: NDArray[np.int32]
    logprobs: NDArray[np.float32] | None
    record: Record
    accept: NDArray[np.bool_] | None = None
    accept_prob: NDArray[np.float32] | None = None
    draft_logprob: NDArray[np.float32] | None = None


MAX_WORDS = 64
"""Words kept in a record. `modulo_reject` takes more with a probability below 2^-64; the draw itself never stops."""


def allocate(plan: Plan, sampler: str, backend: str, order: str, *, detail: str, weight_dtype: Any) -> SampleResult:
    """A result with every array in place for a backend to fill: tokens -1, floats NaN, integers 0, nothing kept."""
    if detail not in DETAILS:
        raise unknown_name("detail", detail, DETAILS)
    rows, columns = plan.shape
    full = detail == "full"
    verify = plan.is_verify is not None

    def nan(*shape: int) -> NDArray[np.float32]:
        return np.full(shape, np.nan, np.float32)

    record = Record(
        sampler=sampler,
        backend=backend,
        draw=plan.draw,
        numbering=plan.numbering,
        filter_order=plan.filter_order,
        order=order,
        seeds=plan.seeds,
        subsequences=plan.subsequences.copy(),
        status=plan.status.copy(),
        lse=nan(rows, 2),
        lse0=nan(rows),
        threshold=nan(rows),
        sel=np.zeros(rows, np.int64),
        total=np.zeros(rows, np.uint64),
        limit=np.zeros(rows, np.uint64),
        residue=np.zeros(rows, np.uint64),
        words=np.zeros((rows, MAX_WORDS), np.uint32),
        word_count=np.zeros(rows, np.int32),
        purpose=np.zeros(rows, np.int32),
        kept=np.zeros((rows, columns), np.bool_) if full else None,
        weights=np.zeros((rows, columns), weight_dtype) if full else None,
        accept_word=np.zeros(rows, np.uint32) if verify else None,
    )
    return SampleResult(
        tokens=np.full(rows, -1, np.int32),
        logprobs=nan(rows, columns) if full else None,
        record=record,
        accept=np.zeros(rows, np.bool_) if verify else None,
        accept_prob=nan(rows) if verify else None,
        draft_logprob=nan(rows) if verify else None,
    )


class Drawn(Protocol):
    """What a draw leaves behind; `deepinfer.sampling.reference.Draw` is one."""

    @property
    def token(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def residue(self) -> int: ...
    @property
    def words(self) -> tuple[int, ...]: ...


def write_draw(out: SampleResult, row: int, drawn: Drawn) -> None:
    """Note one row's draw in `out`."""
    record = out.record
    out.tokens[row] = drawn.token
    record.total[row], record.limit[row], record.residue[row] = drawn.total, drawn.limit, drawn.residue
    shown = drawn.words[:MAX_WORDS]
    record.words[row, : len(shown)] = shown
    record.word_count[row] = len(drawn.words)


def write_greedy(out: SampleResult, row: int, token: int, one: int) -> None:
    """Note a greedy row: all weight on `token`, no word drawn."""
    record = out.record
    out.tokens[row] = token
    record.total[row] = one
    if out.logprobs is not None and record.kept is not None and record.weights is not None:
        out.logprobs[row] = -np.inf
        out.logprobs[row, token] = 0
        record.kept[row, token] = True
        record.weights[row, token] = one

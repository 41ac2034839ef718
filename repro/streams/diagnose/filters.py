"""What could be true of the filters and of the rows: parameters, ties, boundaries, orders, dtypes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from repro.streams.diagnose.claim import Claim
from repro.streams.diagnose.hypothesis import Variants
from repro.streams.samplers import cut as cuts
from repro.streams.samplers import sampler
from repro.streams.torch_values import rounded

F32 = NDArray[np.float32]
BOOL = NDArray[np.bool_]
OFF = {"temperature": 1.0, "top_k": -1, "top_p": 1.0, "min_p": 0.0}
UNFILTERED = ("flashinfer", "flashinfer_logits", "numpy", "llama_cpp", "sglang")
"""Engines whose draw depends on how the cut is made, not on what it leaves alone: masked rows are another call."""


def parameters(claim: Claim) -> Variants:
    """One parameter was not applied, or the temperature another way."""
    for name, off in OFF.items():
        if name in claim.parameters and any(value != off for value in claim.values(name)):
            yield f"{name} not applied", claim.with_parameters(**{name: off})
    if "temperature" in claim.parameters and not _off(claim, "temperature"):
        given = np.asarray(claim.values("temperature"), np.float64)
        yield "temperature applied twice", claim.with_parameters(temperature=(given * given).tolist())
        yield "logits multiplied by the temperature", claim.with_parameters(temperature=(1 / given).tolist())


def neighbours_parameters(claim: Claim) -> Variants:
    """Parameters of another row."""
    for name in claim.parameters:
        given = claim.values(name)
        for words, moved in (("before", given[-1:] + given[:-1]), ("after", given[1:] + given[:1])):
            if moved != given:
                yield f"{name} of the row {words}", claim.with_parameters(**{name: moved})


def dtypes(claim: Claim) -> Variants:
    """Rows were rounded to a half type before sampling."""
    for dtype in ("bfloat16", "float16"):
        changed = rounded(claim.rows, dtype)
        if not np.array_equal(changed, claim.rows):
            yield f"rows rounded to {dtype}", replace(claim, rows=changed)


def cuts_made_otherwise(claim: Claim) -> Variants:
    """Ties of the k-th value kept or cut; top-p at the boundary; top-p of the whole row; filters before the
    temperature, or in another order."""
    if claim.engine in UNFILTERED or sampler(claim.engine).rows != "logits":
        return
    if _off(claim, "top_k") and _off(claim, "top_p"):
        return
    heat = np.asarray(_column(claim, "temperature"), np.float32)[:, None]
    scaled = claim.rows / heat
    k = np.asarray(_column(claim, "top_k"), np.int64)
    k = np.where((k < 1) | (k > scaled.shape[1]), scaled.shape[1], k)
    p = np.asarray(_column(claim, "top_p"), np.float32)
    for words, kept in (
        ("every tie of the k-th value kept", _two(scaled, k, p, ties=True)),
        ("exactly k columns, the first ties", _two(scaled, k, p, ties=False)),
        ("one more column where the mass before is top_p", _two(scaled, k, p, ties=True, closed=True)),
        ("the column that crosses top_p dropped", _two(scaled, k, p, ties=True, crossing=False)),
        ("top-p of the whole row, beside top-k", _two(scaled, k, p, ties=True, joint=True)),
        ("top-p before top-k", _two(scaled, k, p, ties=True, joint=True, renormalised=True)),
        ("filters before the temperature", _two(claim.rows, k, p, ties=True)),
    ):
        masked = np.where(kept, scaled, np.float32(-np.inf))
        yield words, replace(claim, rows=masked, parameters={})


def _two(
    rows: F32,
    k: NDArray[np.int64],
    p: F32,
    *,
    ties: bool,
    closed: bool = False,
    crossing: bool = True,
    joint: bool = False,
    renormalised: bool = False,
) -> BOOL:
    """Columns that top-k and top-p leave, bool[Q, V]. `closed`: a column stays while the mass before it is <= top_p;
    `crossing`: the column that carries the mass over it stays; `joint`: top-p looks at the whole row."""
    left = cuts.top_k_all_ties(rows, k) if ties else cuts.top_k_first_ties(rows, k)
    base = rows if joint else left
    probability = cuts.softmax(base)
    order = np.argsort(-base, axis=1, kind="stable")
    ordered = np.take_along_axis(probability, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    limit = p.astype(np.float64)[:, None]
    mark = before if crossing else before + ordered
    chosen = mark <= limit if closed else mark < limit
    chosen |= (limit >= 1) | (np.arange(rows.shape[1]) == 0)
    nucleus = np.zeros(rows.shape, np.bool_)
    np.put_along_axis(nucleus, order, chosen, axis=1)
    if renormalised:
        inside = np.where(nucleus, rows, np.float32(-np.inf))
        return nucleus & (cuts.top_k_all_ties(inside, np.minimum(k, rows.shape[1])) > -np.inf)
    return nucleus & (left > -np.inf)


def _column(claim: Claim, name: str) -> list[float]:
    return claim.values(name) if name in claim.parameters else [OFF[name]] * len(claim.rows)


def _off(claim: Claim, name: str) -> bool:
    return name not in claim.parameters or all(value == OFF[name] for value in claim.values(name))

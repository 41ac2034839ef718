"""Filters as engines write them, each with the columns whose survival hangs on a float's last bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
BOOL = NDArray[np.bool_]


@dataclass(frozen=True)
class Cut:
    """bool[Q, V] each: columns that survive, and columns that might be on the other side in the engine's own floats."""

    kept: BOOL
    doubtful: BOOL


def everything(rows: F32) -> Cut:
    """Every finite column."""
    return Cut(rows > -np.inf, np.zeros(rows.shape, np.bool_))


def softmax(logits: F32) -> F64:
    """float64[Q, V]; -inf columns get 0."""
    with np.errstate(invalid="ignore"):
        powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    share: F64 = powers / powers.sum(axis=1, keepdims=True)
    return share


def sum_error(columns: int, lanes: int) -> float:
    """Bound on the relative error of a float32 softmax and of a running sum over it: each of `lanes` adds its share in
    turn, then they are joined by a tree; a few roundings are the exponential, the division and the scan."""
    return (columns / lanes + 24) * 2.0**-24


def top_k_all_ties(logits: F32, k: NDArray[np.int64]) -> F32:
    """-inf below the k-th largest value; every tie of it stays."""
    if (k >= logits.shape[1]).all():
        return logits
    ordered = np.sort(logits, axis=1)
    threshold = np.take_along_axis(ordered, (logits.shape[1] - k)[:, None], axis=1)
    return np.where(logits < threshold, np.float32(-np.inf), logits)


def top_k_first_ties(logits: F32, k: NDArray[np.int64]) -> F32:
    """-inf outside exactly k columns; of equal values the first columns stay."""
    if (k >= logits.shape[1]).all():
        return logits
    order = np.argsort(-logits, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(logits.shape[1]), order.shape), axis=1)
    return np.where(rank >= k[:, None], np.float32(-np.inf), logits)


def top_p_mass(logits: F32, top_p: F32, error: float, band: float = 0.0) -> Cut:
    """Columns, from the most probable on, while the mass before them is below top_p; rows with top_p = 1 keep all.

    Doubtful: where the mass before a column is within `error` of top_p; where the cut falls among equal values; and,
    for an engine that searches the threshold by bisection, within `band` of it times the largest probability.
    """
    alive = logits > -np.inf
    if (top_p >= 1).all():
        return Cut(alive, np.zeros(logits.shape, np.bool_))
    probability = softmax(logits)
    order = np.argsort(-logits, axis=1, kind="stable")
    ordered = np.take_along_axis(probability, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    limit = top_p.astype(np.float64)[:, None]
    keep = before < limit
    keep[:, 0] = True
    close = np.abs(before - limit) <= error
    close[:, 0] = False
    last = np.where(keep, ordered, np.inf).min(axis=1, keepdims=True)
    first_gone = np.where(keep, -np.inf, ordered).max(axis=1, keepdims=True)
    width = band * ordered[:, :1]
    near = (last - first_gone <= width) & (ordered >= first_gone - width) & (ordered <= last + width)
    kept, doubtful = np.zeros(alive.shape, np.bool_), np.zeros(alive.shape, np.bool_)
    np.put_along_axis(kept, order, keep, axis=1)
    np.put_along_axis(doubtful, order, close | near, axis=1)
    off = top_p[:, None] >= 1
    return Cut(alive & (kept | off), alive & doubtful & ~off)


def min_p_share(logits: F32, cut: Cut, min_p: F32, error: float) -> Cut:
    """Of a cut, the columns of at least min_p times the largest probability; doubtful within the relative `error`."""
    if not min_p.any():
        return cut
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
        limit = np.where(min_p > 0, np.log(min_p.astype(np.float64)), -np.inf)[:, None]
        close = (np.abs(distance - limit) <= error) & np.isfinite(limit)
    return Cut(cut.kept & (distance >= limit), (cut.doubtful & (distance >= limit - error)) | (cut.kept & close))

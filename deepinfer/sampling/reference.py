"""The float samplers' arithmetic in numpy: dull, one row at a time, and the specification of every faster backend.

exp and log are evaluated in float64 and rounded once; sums run in float64 and are rounded once (order id `fp64`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import words_many
from deepinfer.sampling.spec import ONE, cdf_order, rejection_limit

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
ORDER = "fp64"


def fma32(a: F32, b: np.float32, c: np.float32) -> F32:
    """a * b + c, rounded once: the product is exact in float64, the sum is rounded to odd there, then to float32."""
    product = np.asarray(a, np.float64) * np.float64(b)
    addend = np.float64(c)
    with np.errstate(invalid="ignore", over="ignore"):
        total = product + addend
        back = total - product
        error = (product - (total - back)) + (addend - back)
        inexact = np.isfinite(total) & (error != 0) & ((total.view(np.int64) & 1) == 0)
        odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
        return np.where(inexact, odd, total).astype(np.float32)


def exp32(x: F32) -> F32:
    with np.errstate(under="ignore", over="ignore"):
        return np.exp(np.asarray(x, np.float64)).astype(np.float32)


def log32(x: np.float32) -> np.float32:
    return np.float32(np.log(np.float64(x)))


def sum32(x: F32) -> np.float32:
    return np.float32(np.asarray(x, np.float64).sum())


def weights_of(probability: F32) -> NDArray[np.uint32]:
    """floor(p * 2^31)."""
    return np.floor(np.asarray(probability, np.float64) * ONE).astype(np.uint32)


@dataclass(frozen=True)
class Softmax:
    """Step A.1 of one row: lp(x) = fma(x + lse1, inv, lse0)."""

    inv: np.float32
    lse0: np.float32
    lse1: np.float32

    def logprob(self, x: F32) -> F32:
        with np.errstate(over="ignore"):
            return fma32(np.asarray(x, np.float32) + self.lse1, self.inv, self.lse0)


def softmax(x: F32, inv: np.float32) -> Softmax:
    top = x.max()
    with np.errstate(over="ignore"):
        lse0 = np.float32(-log32(sum32(exp32((x - top) * inv))))
    return Softmax(inv, lse0, np.float32(-top))


@dataclass(frozen=True)
class Cut:
    """Steps A.3 and A.4 of one row."""

    kept: NDArray[np.bool_]
    threshold: np.float32
    sel: int


def cut(x: F32, soft: Softmax, ps: int, ks: int, top_p_on: bool) -> Cut:
    """Walk distinct logits downward until the integer mass reaches `ps` or the count `ks`; then the tie rule."""
    columns = len(x)
    key = x + np.float32(0)  # one key for both zeros
    weight = weights_of(exp32(soft.logprob(x))).astype(np.int64)
    order = np.argsort(-key, kind="stable")
    ordered = key[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    mass = np.cumsum(weight[order])[last]
    count = last + 1
    hit = np.flatnonzero((mass >= ps) | (count >= ks))
    if not hit.size:
        return Cut(x > -np.inf, np.float32(-np.inf), columns)
    group = int(hit[0])
    threshold = ordered[last[group]]
    ps_rem = ps - (int(mass[group - 1]) if group else 0)
    ks_rem = ks - (int(count[group - 1]) if group else 0)
    sel = min(ks_rem, columns)
    if top_p_on:
        at = exp32(soft.logprob(np.asarray([threshold])))[0]
        with np.errstate(divide="ignore", over="ignore"):
            share = np.float32(ps_rem) / np.float32(ONE) / at
        sel = min(sel, int(np.ceil(min(share, np.float32(columns))))) if at > 0 else 0
    ties = (key == threshold) & (x > -np.inf)
    return Cut((key > threshold) | (ties & (np.cumsum(ties) <= sel)), threshold, sel)


def renormalised(x: F32, soft: Softmax, kept: NDArray[np.bool_]) -> Softmax:
    """Step A.5, in the log domain."""
    mass = sum32(exp32(soft.logprob(x[kept])))
    return replace(soft, lse0=np.float32(soft.lse0 - log32(mass)))


def filtered(
    x: F32, soft: Softmax, ps: int, ks: int, top_p_on: bool, filter_order: str, min_p31: int
) -> tuple[Cut, Softmax]:
    """A.3 to A.5 with both filters at once (`joint`), or top-k and its renormalisation first, then top-p.

    min_p belongs to the cut: kept columns stay if (weight << 31) >= min_p31 * largest weight.
    """
    live = x
    if filter_order == "top_k_first" and top_p_on and ks <= len(x):
        first = cut(x, soft, ONE, ks, False)
        soft = renormalised(x, soft, first.kept)
        live = np.where(first.kept, x, np.float32(-np.inf))
        ks = len(x) + 1
    final = cut(live, soft, ps, ks, top_p_on)
    if min_p31:
        wide = weights_of(exp32(soft.logprob(live))).astype(np.uint64)
        final = replace(final, kept=final.kept & (wide << np.uint64(31) >= np.uint64(min_p31) * wide.max()))
    return final, renormalised(x, soft, final.kept)


def stream(seed: Any, subsequence: Any) -> Iterator[int]:
    """The words of one stream, without end."""
    start = 0
    while True:
        block = words_many(
            np.asarray([seed], np.uint64), np.asarray([subsequence], np.uint64), np.asarray([start], np.uint64), 64
        )
        yield from block[0].tolist()
        start += 64


@dataclass(frozen=True)
class Draw:
    """Step A.8 of one row."""

    token: int
    total: int
    limit: int
    residue: int
    words: tuple[int, ...]


def draw(weight: NDArray[np.uint32], seed: Any, subsequence: Any, rule: str) -> Draw | None:
    """Draw one column by integer weights, or None when every weight is zero."""
    order = cdf_order(len(weight))
    cdf = np.cumsum(weight[order].astype(np.uint64))
    total = int(cdf[-1])
    if total == 0:
        return None
    words: list[int] = []
    limit = 2**32
    if rule == "multiply_shift":
        words.append(next(stream(seed, subsequence)))
        residue = words[0] * total >> 32
    else:
        limit = rejection_limit(total)
        for word in stream(seed, subsequence):
            words.append(word)
            if word < limit:
                break
        residue = words[-1] % total
    token = int(order[np.searchsorted(cdf, residue, side="right")])
    return Draw(token, total, limit, residue, tuple(words))

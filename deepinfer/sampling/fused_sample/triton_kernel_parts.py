"""Values and device functions that the parts of the `fused_sample` kernel share (docs/spec/sampling.md, A.1 to A.3).

A program answers a block of rows: per-row values are vectors [rows], elements [rows, tile]. Every sum over columns is a
sum of integers, so no tile, block of rows or number of warps changes a bit of it. A row's masses stay below 2^32:
they are uint32 sums that become non-negative int64 before anything compares, divides or subtracts them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

LEAST = tl.constexpr(-3.4028234663852886e38)
"""The least finite float32."""


class Block(NamedTuple):
    """The rows of one program, and the columns `offset` [1, tile] of its tiles.

    Where one tile holds a row, that tile is `held`, else None. `first` is an earlier cut whose dropped columns count as
    -inf, or None. Exponentials are summed in units of `unit` = 1 / `scale`.
    """

    logits: Any
    row: Any
    inside: Any
    held: Any
    first: Any
    offset: Any
    columns: Any
    tiles: Any
    scale: Any
    unit: Any


class Soft(NamedTuple):
    """lp(x) = fma(x + lse1, inv, lse0)."""

    inv: Any
    lse0: Any
    lse1: Any


class Cut(NamedTuple):
    """Kept: logits above `threshold`, and those equal to it up to column `last`."""

    threshold: Any
    last: Any


@triton.jit
def load(base, block, column):  # type: ignore[no-untyped-def]
    """Elements of columns [1, n] or [rows, n] of a matrix that has the logits' shape; what lies outside is -inf."""
    at = base + block.row[:, None] * block.columns + column
    return tl.load(at, mask=block.inside[:, None] & (column < block.columns), other=float("-inf"))


@triton.jit
def elements(block, column):  # type: ignore[no-untyped-def]
    """The logits of columns [1, n] or [rows, n] as the final cut sees them; what lies outside is -inf."""
    x = load(block.logits, block, column)
    if block.first is not None:
        x = tl.where(survives(x, column, block.first), x, float("-inf"))
    return x


@triton.jit
def fetch(block, index):  # type: ignore[no-untyped-def]
    """(logits [rows, tile], columns [1, tile]) of tile `index`."""
    column = index * block.offset.shape[1] + block.offset
    x = block.held
    if block.held is None:
        x = elements(block, column)
    return x, column


@triton.jit
def filled(block, value, dtype: tl.constexpr):  # type: ignore[no-untyped-def]
    """`value` for every element of a tile [rows, tile]."""
    return tl.full([block.row.shape[0], block.offset.shape[1]], value, dtype)


@triton.jit
def survives(x, column, cut):  # type: ignore[no-untyped-def]
    """Which elements `cut` keeps."""
    tied = (x == cut.threshold[:, None]) & (column <= cut.last[:, None])
    return ((x > cut.threshold[:, None]) | tied) & (x > float("-inf"))


@triton.jit
def exp_of(x):  # type: ignore[no-untyped-def]
    """exp(x) for x <= 1: 2^j * exp2(z), z = x log2(e) - j by two fused multiply-adds, as CUDA's expf does.

    About 1 ULP on a GPU, subnormals included. (tl.exp rounds x log2(e) once, a relative error of |x| 2^-24; so does the
    interpreter here, which rounds an fma twice.)
    """
    place = tl.fma(tl.maximum(x, -87.3), 1.4426950216293335, 12583039.0)
    whole = place - 12583039.0
    rest = tl.fma(x, 1.925963033500011e-08, tl.fma(x, 1.4426950216293335, -whole))
    return tl.exp2(rest) * (place.to(tl.uint32, bitcast=True) << 23).to(tl.float32, bitcast=True)


@triton.jit
def logprob(x, soft):  # type: ignore[no-untyped-def]
    """lp(x) of each element: one add, one fused multiply-add."""
    return tl.fma(x + soft.lse1[:, None], soft.inv[:, None], soft.lse0[:, None])


@triton.jit
def probability_at(x, soft):  # type: ignore[no-untyped-def]
    """exp(lp(x)) of one logit a row."""
    return exp_of(tl.fma(x + soft.lse1, soft.inv, soft.lse0))


@triton.jit
def weight_of(probability):  # type: ignore[no-untyped-def]
    """floor(p * 2^31), uint32: the product is exact, and p is at most 1 plus rounding."""
    return (probability * 2147483648.0).to(tl.uint32)


@triton.jit
def widened(total):  # type: ignore[no-untyped-def]
    """A uint32 as the int64 of the same value."""
    return total.to(tl.int64) & 0xFFFFFFFF


@triton.jit
def fixed(probability, block):  # type: ignore[no-untyped-def]
    """A probability as int64 in units of 1 / scale, rounded down; the product is exact."""
    return (probability * block.scale).to(tl.int64)


@triton.jit
def log_of(total, block):  # type: ignore[no-untyped-def]
    """The logarithm of a sum of `fixed` values: the sum rounded once to float32, its logarithm in float64, rounded."""
    value = total.to(tl.float32) * block.unit
    return tl.log(value.to(tl.float64)).to(tl.float32)


@triton.jit
def key_of(x):  # type: ignore[no-untyped-def]
    """The place of a float in the order of floats, int64; both zeros are at 0."""
    bits = x.to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return tl.where(x == 0.0, 0, key).to(tl.int64)


@triton.jit
def float_of(key):  # type: ignore[no-untyped-def]
    """The float at place `key`."""
    bits = key.to(tl.int32)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.float32, bitcast=True)

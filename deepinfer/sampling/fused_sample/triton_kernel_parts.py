"""Values and device functions that the parts of the `fused_sample` kernel share (docs/spec/sampling.md, A.1 to A.6).

A program answers a block of rows: per-row values are vectors [rows], elements [rows, tile]. Every sum over columns is a
sum of integers, so no tile, block of rows or number of warps changes a bit of it. A row's masses stay below 2^32:
they are uint32 sums that become non-negative int64 before anything compares, divides or subtracts them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl


class Block(NamedTuple):
    """The rows of one program, and the columns `offset` [1, tile] of its tiles.

    Where one tile holds a row, that tile is `held`, else None. Columns that were dropped count as -inf. In `held` they
    are -inf; where tiles are loaded, those are kept that lie above `threshold` or are equal to it up to column `last`
    (both None: all), and with min_p (`lightest` is not None) whose weight by `made` is not below `lightest`.
    """

    logits: Any
    row: Any
    inside: Any
    held: Any
    threshold: Any
    last: Any
    lightest: Any
    made: Any
    offset: Any
    columns: Any
    tiles: Any


class Soft(NamedTuple):
    """lp(x) = fma(x + lse1, inv, lse0)."""

    inv: Any
    lse0: Any
    lse1: Any


@triton.jit
def load(base, block, column):  # type: ignore[no-untyped-def]
    """Elements of columns [1, n] or [rows, n] of a matrix that has the logits' shape; what lies outside is -inf."""
    at = base + block.row[:, None] * block.columns + column
    return tl.load(at, mask=block.inside[:, None] & (column < block.columns), other=float("-inf"))


@triton.jit
def heavy_enough(x, soft, lightest):  # type: ignore[no-untyped-def]
    """Whether the weight of each element is not below the row's `lightest`."""
    return widened(weight_of(exp_of(logprob(x, soft)))) >= lightest[:, None]


@triton.jit
def elements(block, column):  # type: ignore[no-untyped-def]
    """The logits of columns [1, n] or [rows, n], -inf where dropped or outside."""
    x = load(block.logits, block, column)
    if block.threshold is not None:
        threshold = block.threshold[:, None]
        kept = (x > threshold) | ((x == threshold) & (column <= block.last[:, None]))
        if block.lightest is not None:
            kept = kept & heavy_enough(x, block.made, block.lightest)
        x = tl.where(kept, x, float("-inf"))
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
def logprob(x, soft):  # type: ignore[no-untyped-def]
    """lp(x) of each element: one add, one fused multiply-add."""
    return tl.fma(x + soft.lse1[:, None], soft.inv[:, None], soft.lse0[:, None])


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
def high_word(probability):  # type: ignore[no-untyped-def]
    """A probability in units of 2^-18, to the nearest, int32: its sum with 48 is rounded there."""
    return (probability + 48.0).to(tl.int32, bitcast=True) - 1111490560


@triton.jit
def low_word(probability):  # type: ignore[no-untyped-def]
    """What `high_word` leaves, in units of 2^-37, to the nearest, int32 of at most 2^18 in size."""
    rest = probability - ((probability + 48.0) - 48.0)
    return (rest + 9.1552734375e-05).to(tl.int32, bitcast=True) - 952107008


@triton.jit
def sum_of(block, high, low):  # type: ignore[no-untyped-def]
    """The exact sum of two-word probabilities over columns, rounded once to float32.

    A word of 4096 columns stays below 2^31. Lanes that walked over tiles are widened first.
    """
    if (block.held is None) or (high.shape[1] > 4096):
        high = high.to(tl.int64)
        low = low.to(tl.int64)
    total = (tl.sum(high, axis=1).to(tl.int64) << 19) + tl.sum(low, axis=1)
    return total.to(tl.float32) * 7.275957614183426e-12


@triton.jit
def log_of(x):  # type: ignore[no-untyped-def]
    """log(x), evaluated in float64 and rounded."""
    return tl.log(x.to(tl.float64)).to(tl.float32)


@triton.jit
def key_of(x):  # type: ignore[no-untyped-def]
    """The place of a float in the order of floats, int32; both zeros are at 0."""
    bits = x.to(tl.int32, bitcast=True)
    return tl.where(x == 0.0, 0, tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits))


@triton.jit
def float_of(key):  # type: ignore[no-untyped-def]
    """The float at place `key`."""
    return tl.where(key < 0, key ^ 0x7FFFFFFF, key).to(tl.float32, bitcast=True)

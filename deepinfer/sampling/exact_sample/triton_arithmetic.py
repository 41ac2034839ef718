"""The integer arithmetic of `exact_sample` in Triton: logits to weights, weights to log-probabilities.

Each function is the one of the same name in fixed_point.py. 32-bit numbers are uint32 and multiplied by `umulhi`;
everything that is compared, added up or shifted by a variable is a non-negative int64.
"""

from __future__ import annotations

import triton
import triton.language as tl

from deepinfer.sampling.exact_sample import spec

P1 = tl.constexpr(spec.POWER[0])
P2 = tl.constexpr(spec.POWER[1])
P3 = tl.constexpr(spec.POWER[2])
P4 = tl.constexpr(spec.POWER[3])
P5 = tl.constexpr(spec.POWER[4])
P6 = tl.constexpr(spec.POWER[5])
P7 = tl.constexpr(spec.POWER[6])
A1 = tl.constexpr(spec.LOG1P[0])
A2 = tl.constexpr(spec.LOG1P[1])
A3 = tl.constexpr(spec.LOG1P[2])
A4 = tl.constexpr(spec.LOG1P[3])
A5 = tl.constexpr(spec.LOG1P[4])
A6 = tl.constexpr(spec.LOG1P[5])
A7 = tl.constexpr(spec.LOG1P[6])
A8 = tl.constexpr(spec.LOG1P[7])
A9 = tl.constexpr(spec.LOG1P[8])
A10 = tl.constexpr(spec.LOG1P[9])
LN2 = tl.constexpr(spec.LN2)
ONE = tl.constexpr(spec.ONE_WEIGHT)


@triton.jit
def log1p_bend(t):  # type: ignore[no-untyped-def]
    """(t - ln(1 + t)) / t of a u0.32 tensor, u0.32."""
    total = A9 - tl.umulhi(t, tl.full(t.shape, A10, tl.uint32))
    total = A8 - tl.umulhi(t, total)
    total = A7 - tl.umulhi(t, total)
    total = A6 - tl.umulhi(t, total)
    total = A5 - tl.umulhi(t, total)
    total = A4 - tl.umulhi(t, total)
    total = A3 - tl.umulhi(t, total)
    total = A2 - tl.umulhi(t, total)
    return tl.umulhi(t, A1 - tl.umulhi(t, total))


@triton.jit
def weights(x, top, c):  # type: ignore[no-untyped-def]
    """The int64 weight of each logit x <= top (shapes that broadcast): 0 for -inf, 2^44 at top."""
    y = (top - x) * c
    q = (tl.minimum(y, 64.0) * 16777216.0).to(tl.uint32)
    t = q << 8
    slope = P6 - tl.umulhi(t, tl.full(t.shape, P7, tl.uint32))
    slope = P5 - tl.umulhi(t, slope)
    slope = P4 - tl.umulhi(t, slope)
    slope = P3 - tl.umulhi(t, slope)
    slope = P2 - tl.umulhi(t, slope)
    slope = P1 - tl.umulhi(t, slope)
    p = 0x80000000 - (tl.umulhi(t, slope) >> 1)
    whole = (q >> 24).to(tl.int64)
    return tl.where(whole < 44, (p.to(tl.int64) << 13) >> tl.minimum(whole, 63), 0)


@triton.jit
def log1p(t):  # type: ignore[no-untyped-def]
    """ln(1 + t) of a u0.32 tensor, u0.32."""
    return t - tl.umulhi(t, log1p_bend(t))


@triton.jit
def split(value):  # type: ignore[no-untyped-def]
    """floor(log2(value)) int64 and the 32 bits after the leading one, uint32, of 0 < value < 2^52, int64.

    Both are read off the float64 that equals the value.
    """
    bits = value.to(tl.float64).to(tl.int64, bitcast=True)
    return (bits >> 52) - 1023, ((bits >> 20) & 0xFFFFFFFF).to(tl.uint32)


@triton.jit
def log_units(value):  # type: ignore[no-untyped-def]
    """ln(value) in units of 2^-32, int64, of 0 < value < 2^52."""
    exponent, mantissa = split(value)
    return exponent * LN2 + log1p(mantissa).to(tl.int64)


@triton.jit
def log_total(total):  # type: ignore[no-untyped-def]
    """As log_units, of 0 < total <= 2^63 (which is -2^63 in int64)."""
    wide = (total < 0) | (total >= 1 << 48)
    short = tl.where(wide, (total >> 16) & 0xFFFFFFFFFFFF, total)
    return log_units(short) + tl.where(wide, 16 * LN2, 0)


@triton.jit
def logprobs(weight, logarithm, total, likely):  # type: ignore[no-untyped-def]
    """ln(w / total), float32 [rows, n]; `logarithm`, `total` and `likely` [rows] are log_total and likely_logprob."""
    units = logarithm[:, None] - log_units(tl.maximum(weight, 1))
    value = units.to(tl.float32) * -2.3283064365386963e-10
    alone = (weight == ONE) & ((total > 0) & (total < 2 * ONE))[:, None]
    return tl.where(weight > 0, tl.where(alone, likely[:, None], value), float("-inf"))


@triton.jit
def likely_logprob(total):  # type: ignore[no-untyped-def]
    """ln(2^44 / total) where 2^44 <= total < 2^45, float32; anything elsewhere."""
    others = total - ONE
    exponent, mantissa = split(tl.maximum(others, 1))
    leading = (mantissa >> 1) | 0x80000000
    u = (others >> 12).to(tl.uint32)
    units = leading - tl.umulhi(leading, log1p_bend(u))
    unit = ((exponent + 52) << 23).to(tl.int32).to(tl.float32, bitcast=True)  # 2^(exponent - 75)
    return tl.where(others > 0, -(units.to(tl.int64).to(tl.float32) * unit), 0.0)

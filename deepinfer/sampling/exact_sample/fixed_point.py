"""The arithmetic of `exact_sample` in numpy: logits to integer weights, integer weights to log-probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepinfer.sampling.exact_sample.spec import FRACTION_BITS, LN2, LOG1P, ONE_WEIGHT, POWER
from deepinfer.sampling.spec import EXACT_SHIFT

F32 = NDArray[np.float32]
U64 = NDArray[np.uint64]
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


def high(a: U64, b: U64) -> U64:
    """The upper half of the product of two 32-bit numbers held in uint64."""
    return (a * b) >> HALF


def alternating(t: U64, coefficients: tuple[int, ...]) -> U64:
    """C_1 - t * (C_2 - t * (C_3 - ...)), each product cut to its upper half; all u0.32."""
    total = np.full_like(t, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = np.uint64(coefficient) - high(t, total)
    return total


def power(fraction: U64) -> U64:
    """P(f), 2^(31 - f / 2^24) for 0 <= f < 2^24: 2^31 at 0, strictly falling, within 2^-28 of the value."""
    t = fraction << np.uint64(32 - FRACTION_BITS)
    return np.uint64(1 << 31) - (high(t, alternating(t, POWER)) >> np.uint64(1))


def weights(x: F32, c: np.float32) -> U64:
    """Steps 1 and 2 of one row: logits float32[V], the largest finite, to weights uint64[V], the largest 2^44."""
    with np.errstate(over="ignore", under="ignore"):
        y = (x.max() - x) * c
    q = np.trunc(np.minimum(y, np.float32(64)).astype(np.float64) * 2.0**FRACTION_BITS).astype(np.uint64)
    whole = q >> np.uint64(FRACTION_BITS)
    fraction = q & np.uint64((1 << FRACTION_BITS) - 1)
    shifted = (power(fraction) << np.uint64(EXACT_SHIFT - 31)) >> np.minimum(whole, np.uint64(63))
    return np.where(whole < EXACT_SHIFT, shifted, np.uint64(0))


def log1p(t: U64) -> U64:
    """ln(1 + t), u0.32 to u0.32: t - t * H(t) with H(t) = t * (A_1 - t * (A_2 - ...))."""
    return t - high(t, high(t, alternating(t, LOG1P)))


def split(value: U64) -> tuple[U64, U64]:
    """floor(log2(value)) and the 32 bits that follow the leading one, for 0 < value < 2^64."""
    exponent = np.zeros_like(value)
    rest = value.copy()
    for step in (32, 16, 8, 4, 2, 1):
        wide = (rest >> np.uint64(step)) > 0
        exponent += np.where(wide, np.uint64(step), np.uint64(0))
        rest = np.where(wide, rest >> np.uint64(step), rest)
    return exponent, (value << (np.uint64(63) - exponent)) >> np.uint64(31) & LOW


def logprobs(weight: U64, total: int) -> F32:
    """Step 5 of one row: ln(w / total) for weights uint64[V] whose sum is `total`; -inf for weight 0."""
    out = np.full(len(weight), -np.inf, np.float32)
    live = weight > 0
    exponent, mantissa = split(weight[live])
    whole, part = split(np.asarray([total], np.uint64))
    units = (whole - exponent).astype(np.int64) * LN2 + log1p(part).astype(np.int64) - log1p(mantissa).astype(np.int64)
    out[live] = -(units.astype(np.float32) * np.float32(2.0**-32))
    if total < 2 * ONE_WEIGHT:
        out[weight == ONE_WEIGHT] = likely_logprob(total - ONE_WEIGHT)
    return out


def likely_logprob(others: int) -> np.float32:
    """ln(w / (w + others)) = -ln(1 + others / w) where w is 2^44 and others less: the one column above one half."""
    if others == 0:
        return np.float32(0)
    exponent = others.bit_length() - 1
    leading = np.asarray([(others << 31) >> exponent], np.uint64)
    u = np.asarray([others >> (EXACT_SHIFT - 32)], np.uint64)
    units = leading - high(leading, high(u, alternating(u, LOG1P)))
    return np.float32(-(units.astype(np.float32)[0] * np.float32(2.0 ** (exponent - 31 - EXACT_SHIFT))))

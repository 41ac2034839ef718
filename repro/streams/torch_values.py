"""Word to value, as torch's CUDA kernels do it, with a bound wherever a GPU approximates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError, unknown_name
from deepinfer.rng.maps import uniform2_double_from_words
from deepinfer.rng.reference import uniform_from_words

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
U64 = NDArray[np.uint64]
HALF_EPSILON = np.float32(2.0**-24)
LOGF_NEAR_ONE = 2.0**-21.41
"""Largest absolute error of __logf on [0.5, 2] (CUDA programming guide); over every word an H200 shows 2^-22.45."""
LOGF_ULP = 4
"""Units in the last place below a half: the guide says 3, an H200 shows 3.35 over every word."""
DTYPES = ("float32", "bfloat16", "float16")


def uniform(words: NDArray[np.uint32], dtype: str = "float32") -> F32:
    """torch.rand on CUDA: cuRAND's map rounded to `dtype`, then 1.0 becomes 0.0 (so half types have many zeros)."""
    real = rounded(uniform_from_words(words), dtype)
    return np.where(real == 1, np.float32(0), real)


def uniform_double(pairs: NDArray[np.uint32]) -> F64:
    """As `uniform` for float64, two words each: uint32[n, 2] to float64[n]."""
    real = uniform2_double_from_words(pairs)[:, 0]
    return np.where(real == 1, 0.0, real)


def rounded(x: F32, dtype: str) -> F32:
    """`x` rounded to nearest even in `dtype`, as float32."""
    if dtype == "float32":
        return x
    if dtype == "float16":
        return x.astype(np.float16).astype(np.float32)
    if dtype != "bfloat16":
        raise unknown_name("dtype of torch.rand", dtype, [*DTYPES, "float64"])
    bits = x.view(np.uint32)
    up = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return up.view(np.float32)


def exponential(u: F32) -> F32:
    """-ln u, and 2^-24 where u is 1 - 2^-24 or more (so that it is never 0)."""
    with np.errstate(divide="ignore"):
        plain = -np.log(u.astype(np.float64))
    return np.where(u >= 1 - HALF_EPSILON, HALF_EPSILON, plain).astype(np.float32)


def exponential_error(u: F32) -> F64:
    """How far torch's exponential on a GPU may lie from `exponential(u)`: __logf's error and one rounding."""
    value = exponential(u).astype(np.float64)
    unit = np.spacing(np.abs(value.astype(np.float32))).astype(np.float64)
    error = np.where(u >= 0.5, LOGF_NEAR_ONE + unit, LOGF_ULP * unit)
    return np.where(u >= 1 - HALF_EPSILON, 0, error)


def log_normal(normal: F32, mean: float = 1.0, std: float = 2.0) -> F32:
    """exp(mean + std * normal), torch's defaults."""
    argument = (normal * np.float32(std) + np.float32(mean)).astype(np.float64)
    with np.errstate(over="ignore"):
        return np.exp(argument).astype(np.float32)


def cauchy(u: F32, median: float = 0.0, sigma: float = 1.0) -> F32:
    """median + sigma * tan(pi (u - 1/2)), u cut to [2^-23, 1 - 2^-23]."""
    edge = np.float32(2.0**-23)
    cut = np.clip(u, edge, np.float32(1) - edge)
    angle = (np.float32(np.pi) * (cut - np.float32(0.5))).astype(np.float64)
    return (median + sigma * np.tan(angle)).astype(np.float32)


def geometric(u: F32, p: float) -> F32:
    """ceil(ln u / ln(1 - p)); one less or more where the quotient lies within __logf's error of a whole number."""
    quotient = np.log(u.astype(np.float64)).astype(np.float32) / np.float32(np.log1p(-np.float64(np.float32(p))))
    whole: F32 = np.ceil(quotient).astype(np.float32)
    return whole


def check_range(low: int, high: int) -> int:
    """high - low, the number of integers, if it is one that torch takes."""
    if not -(2**63) <= low < high <= 2**63:
        raise InputError(f"range is {low} to {high}: give -2^63 <= low < high <= 2^63")
    return high - low


def into_range(words: U64, span: int, low: int) -> NDArray[np.int64]:
    """word mod span + low in 64-bit arithmetic; span 2^64 keeps the word."""
    rest = words if span == 2**64 else words % np.uint64(span)
    return (rest + np.uint64(low & (2**64 - 1))).view(np.int64)


def high_first(pairs: NDArray[np.uint32]) -> U64:
    """uint32[..., 2] to uint64[...], the first word on top."""
    wide = pairs.astype(np.uint64)
    return (wide[..., 0] << np.uint64(32)) | wide[..., 1]


def permutation(keys: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The stable order of the keys' low bits."""
    if count >= 2**16:
        raise InputError(f"count is {count}: randperm is known below 2^16 elements")
    bits = math.ceil(math.log2(count - (6 * count * count + 1) / (math.log(0.9) * 12)))
    low = keys & (2**bits - 1) if bits < 32 else keys
    order = np.argsort(low, kind="stable")
    if (np.diff(low[order]) == 0).any():
        raise InputError(f"two of {count} keys tie: torch shuffles ties in a second kernel, which is not followed here")
    return order

"""Bit patterns and units in the last place: integer views of numbers, their order, and where two arrays differ.

Everything here works on the bits. Floats are float64, float32, float16, and, where the array has a dtype of
`ml_dtypes`, bfloat16 and the float8 kinds of LAYOUTS. Integers and bools are their own bits; bools have no order.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.result import Difference

Array = NDArray[Any]
U64 = NDArray[np.uint64]


@dataclass(frozen=True)
class FloatLayout:
    """Sign-magnitude layout of a float of `bits` bits: magnitudes above `finite` are `inf` or NaN. Where `one_zero`
    holds there is no -0: its pattern is the only NaN."""

    bits: int
    mantissa: int
    finite: int
    inf: int | None = None
    one_zero: bool = False


def _ieee(bits: int, mantissa: int) -> FloatLayout:
    inf = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    return FloatLayout(bits, mantissa, inf - 1, inf)


LAYOUTS = MappingProxyType(
    {
        "float64": _ieee(64, 52),
        "float32": _ieee(32, 23),
        "float16": _ieee(16, 10),
        "bfloat16": _ieee(16, 7),
        "float8_e5m2": _ieee(8, 2),
        "float8_e4m3": _ieee(8, 3),
        "float8_e3m4": _ieee(8, 4),
        "float8_e4m3fn": FloatLayout(8, 3, 0x7E),
        "float8_e5m2fnuz": FloatLayout(8, 2, 0x7F, one_zero=True),
        "float8_e4m3fnuz": FloatLayout(8, 3, 0x7F, one_zero=True),
        "float8_e4m3b11fnuz": FloatLayout(8, 3, 0x7F, one_zero=True),
    }
)


def float_layout(dtype: np.dtype[Any]) -> FloatLayout | None:
    """The layout of a float dtype, None for other dtypes."""
    return LAYOUTS.get(dtype.name)


def comparable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of `dtype` have bits that can be compared."""
    return dtype.kind in "iub" or float_layout(dtype) is not None


def bits_of(array: Array) -> NDArray[np.unsignedinteger[Any]]:
    """The bit patterns of `array`, in native byte order, as unsigned integers of the same width."""
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return native.view(np.dtype(f"u{array.dtype.itemsize}"))


def differs(baseline: Array, candidate: Array) -> NDArray[np.bool_]:
    """Where the bit patterns differ."""
    return np.asarray(bits_of(baseline) != bits_of(candidate))


def keys(array: Array) -> U64:
    """Monotone integers: consecutive numbers have consecutive keys, both zeros have one. NaNs lie beyond infinity."""
    layout = float_layout(array.dtype)
    if layout is None:
        if array.dtype.kind == "i":
            return array.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
        return array.astype(np.uint64)
    raw = bits_of(array).astype(np.uint64)
    half = np.uint64(1 << (layout.bits - 1))
    magnitude = raw & (half - np.uint64(1))
    if layout.one_zero:
        magnitude = np.where(raw == half, half, magnitude)
    return np.where(raw & half != 0, half - magnitude, half + magnitude)


def from_keys(key: U64, dtype: np.dtype[Any]) -> Array:
    """The numbers of these keys: what `keys` maps there; the one zero there is, is +0."""
    layout = float_layout(dtype)
    if layout is None:
        if dtype.kind == "i":
            return (key ^ np.uint64(1 << 63)).view(np.int64).astype(dtype)
        return key.astype(dtype)
    half = np.uint64(1 << (layout.bits - 1))
    raw = np.where(key >= half, key - half, half | (half - key))
    return raw.astype(f"u{dtype.itemsize}").view(dtype)


def ulp_distance(baseline: Array, candidate: Array) -> U64:
    """How many representable numbers lie between, uint64. Meaningless where either is NaN: see `classes`."""
    a, b = keys(baseline), keys(candidate)
    return np.where(a > b, a - b, b - a)


def ulp_of_at_least(baseline: Array, candidate: Array, at_least: float) -> NDArray[np.float64]:
    """|candidate - baseline| in units in the last place of max(|baseline|, at_least); 0 where the values are equal.

    Infinite where one side is not finite and the other is something else. The difference is taken in float64.
    """
    layout = float_layout(baseline.dtype)
    if layout is None:
        raise TypeError(f"dtype {baseline.dtype} has no units in the last place")
    with np.errstate(invalid="ignore", over="ignore"):  # a signalling NaN raises even when it is only read
        a, b = baseline.astype(np.float64), candidate.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        _, exponent = np.frexp(np.maximum(np.abs(a), at_least))
        distance = np.ldexp(np.abs(b - a), layout.mantissa + 1 - exponent)
    return np.where(same, 0.0, np.where(np.isfinite(a) & np.isfinite(b), distance, np.inf))


def classes(baseline: Array, candidate: Array) -> dict[str, NDArray[np.bool_]]:
    """Special kinds of difference among floats, as masks over elements whose bits differ (empty for integers).

    `sign of zero`, `NaN payload`, `NaN against a number`, `infinity against a number` (or the other infinity),
    `subnormal against zero`.
    """
    layout = float_layout(baseline.dtype)
    if layout is None:
        return {}
    below_sign = np.uint64((1 << (layout.bits - 1)) - 1)
    raw_a, raw_b = bits_of(baseline).astype(np.uint64), bits_of(candidate).astype(np.uint64)
    a, b = raw_a & below_sign, raw_b & below_sign
    differ = raw_a != raw_b
    above = np.uint64(layout.finite if layout.inf is None else layout.inf)
    nan_a, nan_b = a > above, b > above
    if layout.one_zero:
        nan_a, nan_b = raw_a == below_sign + np.uint64(1), raw_b == below_sign + np.uint64(1)
    inf_a, inf_b = (a == above, b == above) if layout.inf is not None else (a != a, b != b)
    tiny = np.uint64(1 << layout.mantissa)
    zero_a, zero_b = (a == 0) & ~nan_a, (b == 0) & ~nan_b
    return {
        "sign of zero": differ & zero_a & zero_b,
        "NaN payload": differ & nan_a & nan_b,
        "NaN against a number": nan_a != nan_b,
        "infinity against a number": differ & ~nan_a & ~nan_b & (inf_a | inf_b),
        "subnormal against zero": (zero_a & (b > 0) & (b < tiny)) | (zero_b & (a > 0) & (a < tiny)),
    }


def difference_at(baseline: Array, candidate: Array, flat: int) -> Difference:
    """The element at flat index `flat` with both values, bit patterns and their distance (None: NaN or bool)."""
    index = tuple(int(i) for i in np.unravel_index(flat, baseline.shape))
    a, b = baseline[index], candidate[index]
    width = 2 + 2 * baseline.dtype.itemsize
    pair_a, pair_b = np.asarray([a], baseline.dtype), np.asarray([b], candidate.dtype)
    named = classes(pair_a, pair_b)
    no_order = baseline.dtype.kind == "b" or any(bool(named[k][0]) for k in named if k.startswith("NaN"))
    return Difference(
        index=index,
        baseline=str(a),
        candidate=str(b),
        baseline_bits=f"{int(bits_of(pair_a)[0]):#0{width}x}",
        candidate_bits=f"{int(bits_of(pair_b)[0]):#0{width}x}",
        ulp=None if no_order else int(ulp_distance(pair_a, pair_b)[0]),
    )


def histogram(distance: NDArray[Any]) -> dict[str, int]:
    """Counts of finite distances by powers of two: `0`, `1`, `2`, `3-4`, `5-8`, ... (fractions round up)."""
    counts: dict[str, int] = {}
    size = np.ceil(np.minimum(distance, np.float64(2**63))).astype(np.uint64)
    level = np.zeros(distance.shape, np.int64)
    positive = size > 0
    level[positive] = 1 + np.ceil(np.log2(size[positive].astype(np.float64))).astype(np.int64)
    for value, count in zip(*np.unique(level, return_counts=True), strict=True):
        counts[_bucket(int(value))] = int(count)
    return counts


def _bucket(level: int) -> str:
    if level <= 2:
        return str(level)
    return f"{2 ** (level - 2) + 1}-{2 ** (level - 1)}"

"""The bit comparator against struct, math.nextafter and ml_dtypes."""

from __future__ import annotations

import math
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import bits

FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn")


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def every_pattern(name: str) -> np.ndarray:
    """All values of a float of at most 16 bits."""
    dtype = dtype_of(name)
    return np.arange(2 ** (8 * dtype.itemsize)).astype(f"u{dtype.itemsize}").view(dtype)


@given(st.floats(width=64))
def test_bits_are_struct_s(value: float) -> None:
    assert int(bits.bits_of(np.asarray([value]))[0]) == struct.unpack("<Q", struct.pack("<d", value))[0]


def test_bits_of_big_endian_and_strided_arrays() -> None:
    values = np.asarray([1.5, -0.0, 3.0, 4.0], ">f4")[::2]
    assert bits.bits_of(values).tolist() == [0x3FC00000, 0x40400000]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 40))
def test_ulp_distance_counts_steps_of_nextafter(start: float, steps: int) -> None:
    value, target = start, -math.inf if start > 0 else math.inf
    for _ in range(steps):
        value = math.nextafter(value, target)
    distance = bits.ulp_distance(np.asarray([start]), np.asarray([value]))[0]
    assert int(distance) == steps
    assert distance == bits.ulp_distance(np.asarray([value]), np.asarray([start]))[0]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_keys_are_monotone_over_every_pattern(name: str) -> None:
    values = every_pattern(name)
    layout = bits.float_layout(values.dtype)
    magnitude = bits.bits_of(values) & ((1 << (layout.bits - 1)) - 1)
    values = values[magnitude <= layout.finite]
    wide = values.astype(np.float64)
    assert np.isfinite(wide).all()
    order = np.argsort(wide, kind="stable")
    keys, wide = bits.keys(values)[order].astype(np.int64), wide[order]
    step = np.diff(keys)
    assert set(step.tolist()) == {0, 1}
    np.testing.assert_array_equal(step == 0, np.diff(wide) == 0)  # both zeros share a key, nothing else does


def test_distance_across_zero_and_between_extremes() -> None:
    tiny = np.float32(1e-45)
    assert int(bits.ulp_distance(np.asarray([-tiny]), np.asarray([tiny]))[0]) == 2
    assert int(bits.ulp_distance(np.asarray([np.float32(-0.0)]), np.asarray([np.float32(0)]))[0]) == 0
    low, high = np.asarray([-np.finfo(np.float64).max]), np.asarray([np.finfo(np.float64).max])
    assert int(bits.ulp_distance(low, high)[0]) == 2 * 0x7FEFFFFFFFFFFFFF


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integer_distance_at_the_ends(dtype: str) -> None:
    info = np.iinfo(dtype)
    low, high = np.asarray([info.min], dtype), np.asarray([info.max], dtype)
    assert int(bits.ulp_distance(low, high)[0]) == int(info.max) - int(info.min)


@pytest.mark.parametrize("name", FLOATS)
def test_classes_name_each_special_difference(name: str) -> None:
    dtype = dtype_of(name)
    one, zero, nan = np.asarray(1, dtype), np.asarray(0, dtype), np.asarray(np.nan, dtype)
    tiny = np.asarray([1], f"u{dtype.itemsize}").view(dtype)[0]
    sign = np.asarray([1 << (8 * dtype.itemsize - 1)], f"u{dtype.itemsize}")
    other_nan = (bits.bits_of(np.asarray([nan])) ^ sign).view(dtype)[0]
    pairs = {
        "sign of zero": (zero, -zero),
        "NaN payload": (nan, other_nan),
        "NaN against a number": (nan, one),
        "subnormal against zero": (tiny, zero),
    }
    if bits.float_layout(dtype).inf is not None:
        pairs["infinity against a number"] = (np.asarray(np.inf, dtype), one)
    for expected, (a, b) in pairs.items():
        found = bits.classes(np.asarray([a], dtype), np.asarray([b], dtype))
        assert [kind for kind, mask in found.items() if mask[0]] == [expected]
        swapped = bits.classes(np.asarray([b], dtype), np.asarray([a], dtype))
        assert [kind for kind, mask in swapped.items() if mask[0]] == [expected]


@pytest.mark.parametrize("name", FLOATS)
def test_ordinary_and_equal_pairs_have_no_class(name: str) -> None:
    dtype = dtype_of(name)
    a = np.asarray([1, 2, np.nan, -0.0], dtype)
    b = np.asarray([2, 1, np.nan, -0.0], dtype)
    assert not any(mask.any() for mask in bits.classes(a, b).values())
    assert bits.differs(a, b).tolist() == [True, True, False, False]


def test_ulp_of_at_least_is_absolute_below_the_scale_and_relative_above() -> None:
    unit = np.float64(2.0**-23)
    baseline = np.asarray([0.0, -0.5, 1.0, 4.0, -8.25], np.float32)
    candidate = np.asarray([2 * unit, -0.5 - unit, 1 + 2 * unit, 4 + 4 * unit, -8.25 - 16 * unit], np.float32)
    np.testing.assert_array_equal(bits.ulp_of_at_least(baseline, candidate, 1.0), [2, 1, 2, 1, 2])


def test_ulp_of_at_least_at_infinity_and_nan() -> None:
    baseline = np.asarray([-np.inf, -np.inf, 1.0, np.nan, np.nan], np.float32)
    candidate = np.asarray([-np.inf, -1e30, np.inf, np.nan, 0.0], np.float32)
    assert bits.ulp_of_at_least(baseline, candidate, 1.0).tolist() == [0, np.inf, np.inf, 0, np.inf]


def test_difference_shows_both_bit_patterns() -> None:
    found = bits.difference_at(np.asarray([[1, 1.5]], np.float32), np.asarray([[1, -0.0]], np.float32), 1)
    assert (found.index, found.baseline_bits, found.candidate_bits) == ((0, 1), "0x3fc00000", "0x80000000")
    assert found.ulp == 0x3FC00000
    assert bits.difference_at(np.asarray([True]), np.asarray([False]), 0).ulp is None
    assert bits.difference_at(np.asarray([np.nan]), np.asarray([1.0]), 0).ulp is None


def test_histogram_buckets_are_powers_of_two_and_balance() -> None:
    counts = bits.histogram(np.asarray([0, 0, 1, 2, 3, 4, 5, 8, 9, 2**40, 2**40 + 1], np.uint64))
    assert counts == {
        "0": 2, "1": 1, "2": 1, "3-4": 2, "5-8": 2, "9-16": 1,
        f"{2**39 + 1}-{2**40}": 1, f"{2**40 + 1}-{2**41}": 1,
    }  # fmt: skip
    assert bits.histogram(np.asarray([0.0, 0.25, 1.5])) == {"0": 1, "1": 1, "2": 1}
    assert bits.histogram(np.asarray([], np.uint64)) == {}


@pytest.mark.parametrize("dtype", ["complex64", "U4", "O", "M8[s]"])
def test_other_dtypes_have_no_bits_to_compare(dtype: str) -> None:
    assert not bits.comparable(np.dtype(dtype))


def test_signalling_nans_are_read_quietly() -> None:
    loud = np.asarray([0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    assert bits.ulp_of_at_least(loud, loud.copy(), 1.0).tolist() == [0, 0]

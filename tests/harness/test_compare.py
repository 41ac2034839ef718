"""One output under one rule: each comparator has inputs that must fail, and inputs beside them that must pass."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deepinfer.errors import InputError
from harness.case import Floor
from harness.compare import compare
from harness.result import Verdict
from harness.rules import agreement, bitwise, ignore, same_set, tolerance, ulp

EVERY_RULE = (bitwise(), ulp(2), ulp(2, at_least=1.0), tolerance(1e-5, 1e-8), agreement())
FLOOR = Floor(0.9)


def softmax_rows() -> np.ndarray:
    x = np.random.default_rng(5).standard_normal((16, 300))
    return (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)).astype(np.float32)


def changed(array: np.ndarray, index: object, value: object) -> np.ndarray:
    copy = array.copy()
    copy[index] = value
    return copy


def test_two_integers_swapped() -> None:
    tokens = np.asarray([7, 3, 9, 1], np.int32)
    found = compare(bitwise(), tokens, tokens[[0, 2, 1, 3]])
    assert (found.verdict, found.differing, found.first.index) == (Verdict.DRIFT, 2, (1,))
    assert compare(bitwise(), tokens, tokens.copy()).verdict is Verdict.PASS


@pytest.mark.parametrize("rule", [bitwise(), ulp(2), ulp(2, at_least=1.0), tolerance(1e-5, 1e-8)])
def test_a_sign_flipped(rule: object) -> None:
    probs = softmax_rows()
    assert compare(rule, probs, changed(probs, (3, 4), -probs[3, 4])).verdict is Verdict.DRIFT


@pytest.mark.parametrize("rule", [bitwise(), ulp(2), tolerance(1e-5, 1e-8)])
def test_zeros_against_a_softmax(rule: object) -> None:
    probs = softmax_rows()
    found = compare(rule, probs, np.zeros_like(probs))
    assert (found.verdict, found.differing) == (Verdict.DRIFT, probs.size)


def test_a_tolerance_that_zeros_would_pass_is_refused() -> None:
    uniform = np.full((2, 262144), np.float32(1) / 262144)
    with pytest.raises(InputError, match="vacuous"):
        compare(tolerance(1.3e-6, 1e-5), uniform, uniform.copy())
    assert compare(tolerance(1.3e-6, 1e-9), uniform, uniform.copy()).verdict is Verdict.PASS


def test_a_tolerance_on_zeros_alone_is_refused() -> None:
    with pytest.raises(InputError, match="bitwise"):
        compare(tolerance(0.0, 1e-3), np.zeros(4), np.zeros(4))


def test_units_so_many_that_zeros_would_pass_are_refused() -> None:
    lp = np.full(8, np.float32(1e-7))
    with pytest.raises(InputError, match="vacuous"):
        compare(ulp(2, at_least=1.0), lp, lp.copy())
    assert compare(ulp(2), np.zeros(8), np.zeros(8)).verdict is Verdict.PASS  # zeros are the answer here


def test_minus_zero() -> None:
    values = np.asarray([0.0, 1.0, 2.0])
    other = changed(values, 0, -0.0)
    found = compare(bitwise(), values, other)
    assert (found.verdict, found.first.candidate_bits) == (Verdict.DRIFT, "0x8000000000000000")
    assert found.histogram == {"0": 3, "sign of zero": 1}
    assert compare(ulp(0), values, other).verdict is Verdict.PASS


def test_nan_payload_and_identical_nans() -> None:
    values = np.asarray([np.nan, 1.0], np.float32)
    payload = (values.view(np.uint32) ^ np.asarray([1, 0], np.uint32)).view(np.float32)
    assert np.isnan(payload[0])
    found = compare(bitwise(), values, payload)
    assert (found.verdict, found.first.ulp, found.max_ulp) == (Verdict.DRIFT, None, 0)
    for rule in (ulp(0), ulp(0, at_least=1e-30), tolerance(1e-6, 0.0)):
        assert compare(rule, values, payload).verdict is Verdict.PASS
    for rule in (bitwise(), ulp(0), tolerance(1e-6, 0.0)):
        assert compare(rule, values, values.copy()).verdict is Verdict.PASS


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rule", [bitwise(), ulp(2**24), ulp(2**20, at_least=1.0), tolerance(0.9, 1e9)])
def test_nan_or_infinity_against_a_number(rule: object, value: float) -> None:
    numbers = np.asarray([3e38, 1e30, -1e30], np.float32)
    for pair in ((numbers, changed(numbers, 1, value)), (changed(numbers, 1, value), numbers)):
        found = compare(rule, *pair)
        assert (found.verdict, found.differing, found.worst.index) == (Verdict.DRIFT, 1, (1,))


def test_the_largest_number_is_not_infinity() -> None:
    top = np.asarray([1, np.finfo(np.float32).max], np.float32)
    assert compare(ulp(1), top, changed(top, 1, np.inf)).verdict is Verdict.DRIFT


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0)])
@pytest.mark.parametrize("rule", [*EVERY_RULE, same_set()], ids=lambda rule: rule.text)
def test_nothing_to_compare_is_empty(rule: object, shape: tuple[int, ...]) -> None:
    assert compare(rule, np.zeros(shape, np.float32), np.zeros(shape, np.float32), FLOOR).verdict is Verdict.EMPTY


def test_element_2500_of_5000() -> None:
    values = np.arange(5000, dtype=np.float32)
    found = compare(bitwise(), values, changed(values, 2500, 2500.5))
    assert (found.verdict, found.first.index, found.elements, found.differing) == (Verdict.DRIFT, (2500,), 5000, 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_one_ulp(dtype: type) -> None:
    values = np.linspace(1, 2, 100).astype(dtype)
    other = np.nextafter(values, dtype(3))
    found = compare(bitwise(), values, other)
    assert (found.verdict, found.max_ulp, found.median_ulp, found.histogram) == (Verdict.DRIFT, 1, 1.0, {"1": 100})
    assert compare(ulp(1), values, other).verdict is Verdict.PASS
    assert compare(ulp(1), values, np.nextafter(other, dtype(3))).verdict is Verdict.DRIFT


def test_ulp_at_least_is_exact_at_the_bound() -> None:
    lp = np.asarray([-0.25, -3.0], np.float32)
    unit = 2.0**-23
    assert (
        compare(ulp(2, at_least=1.0), lp, np.asarray([-0.25 - 2 * unit, -3 - 4 * unit], np.float32)).verdict == "pass"
    )
    over = compare(ulp(2, at_least=1.0), lp, np.asarray([-0.25 - 2.25 * unit, -3], np.float32))
    assert (over.verdict, over.differing, over.max_ulp) == (Verdict.DRIFT, 1, 3)


def test_tolerance_is_exact_at_the_bound() -> None:
    values = np.asarray([4.0, -4.0])
    assert compare(tolerance(0.25, 0.5), values, np.asarray([5.5, -5.5])).verdict is Verdict.PASS
    assert compare(tolerance(0.25, 0.5), values, np.asarray([5.5, np.nextafter(-5.5, -6)])).verdict is Verdict.DRIFT


@pytest.mark.parametrize("rule", [*EVERY_RULE, same_set()], ids=lambda rule: rule.text)
def test_missing_extra_shape_and_dtype_are_not_comparable(rule: object) -> None:
    array = np.ones((4, 3), np.float32)
    pairs = {
        "missing in the candidate": (rule, array, None),
        "missing in the baseline": (rule, None, array),
        "no rule": (None, array, array),
        "shape": (rule, array, array[:3]),
        "dtype": (rule, array, array.astype(np.float64)),
    }
    for reason, (given_rule, a, b) in pairs.items():
        found = compare(given_rule, a, b, FLOOR)
        assert found.verdict is Verdict.NOT_COMPARABLE
        assert reason in found.reason
        assert found.elements == 0


def test_values_without_bits_are_not_comparable() -> None:
    for array in (np.asarray(["a"]), np.asarray([1j]), np.asarray([None])):
        assert compare(bitwise(), array, array).verdict is Verdict.NOT_COMPARABLE
    assert compare(bitwise(), np.asarray(1.0), np.asarray(1.0)).verdict is Verdict.NOT_COMPARABLE


@pytest.mark.parametrize(
    ("rule", "array"),
    [
        (tolerance(0.1, 0.0), np.ones(3, np.int32)),
        (ulp(1), np.ones(3, np.bool_)),
        (ulp(1, at_least=1.0), np.ones(3, np.int64)),
        (same_set(), np.ones((3, 3), np.int32)),
        (same_set(), np.ones(3, np.bool_)),
    ],
    ids=lambda value: getattr(value, "text", str(getattr(value, "dtype", value))),
)
def test_a_rule_for_another_kind_of_data_is_refused(rule: object, array: np.ndarray) -> None:
    with pytest.raises(InputError):
        compare(rule, array, array.copy())


def test_agreement_needs_a_floor_and_its_clusters() -> None:
    tokens = np.arange(4)
    with pytest.raises(InputError, match="floor"):
        compare(agreement(), tokens, tokens)
    with pytest.raises(InputError, match="cluster"):
        compare(agreement("prompt"), tokens, tokens, FLOOR)
    with pytest.raises(InputError, match="cluster"):
        compare(agreement(), tokens, tokens, FLOOR, clusters=np.arange(4))


def test_agreement_reports_the_rate_and_the_first_row() -> None:
    tokens = np.arange(400, dtype=np.int32)
    other = changed(tokens, slice(100, 110), 9999)
    found = compare(agreement(), tokens, other, Floor(0.95))
    assert (found.verdict, found.rate.equal, found.rows, found.first.index) == (Verdict.PASS, 390, 400, (100,))
    assert compare(agreement(), tokens, other, Floor(0.99)).verdict is Verdict.DRIFT
    assert compare(agreement(), tokens, other, Floor(0.975)).verdict is Verdict.INCONCLUSIVE


def test_twenty_rows_cannot_prove_a_floor_of_99() -> None:
    tokens = np.arange(20)
    found = compare(agreement(), tokens, tokens.copy(), Floor(0.99))
    assert (found.verdict, found.rate.rows_needed) == (Verdict.INCONCLUSIVE, 299)


def test_sets_differ_by_row_and_need_proof() -> None:
    kept = np.random.default_rng(1).random((200, 50)) < 0.5
    other = changed(kept, (7, 3), ~kept[7, 3])
    proven = np.zeros(200, np.bool_)
    assert compare(same_set(), kept, kept.copy()).verdict is Verdict.PASS
    for rule in (same_set(), same_set(0.99)):
        assert compare(rule, kept, other).verdict is Verdict.DRIFT
        assert compare(rule, kept, other, proven=proven).verdict is Verdict.DRIFT
    proven[7] = True
    found = compare(same_set(0.99), kept, other, proven=proven)
    assert (found.verdict, found.differing, found.first.index) == (Verdict.PASS, 1, (7, 3))
    assert compare(same_set(), kept, other, proven=proven).verdict is Verdict.DRIFT
    many = kept ^ (np.arange(200) < 3)[:, None]
    assert compare(same_set(0.99), kept, many, proven=np.ones(200, np.bool_)).verdict is Verdict.DRIFT


def test_proof_of_another_row_does_not_count() -> None:
    kept = np.zeros((200, 5), np.bool_)
    proven = changed(np.zeros(200, np.bool_), 8, True)
    assert compare(same_set(0.9), kept, changed(kept, (7, 3), True), proven=proven).verdict is Verdict.DRIFT


def test_equal_sizes_of_other_columns_differ() -> None:
    kept = np.eye(4, dtype=np.bool_)
    assert compare(same_set(), kept, kept[::-1].copy()).differing == 4


def test_ignore_compares_nothing_and_expires() -> None:
    array = np.ones(3)
    rule = ignore("upstream writes garbage here", "2027-01-31")
    held = compare(rule, array, None, today=date(2027, 1, 31))
    assert (held.verdict, held.elements) == (Verdict.EMPTY, 0)
    late = compare(rule, array, array, today=date(2027, 2, 1))
    assert late.verdict is Verdict.NOT_COMPARABLE
    assert "expired on 2027-01-31" in late.reason


@given(
    hnp.arrays(st.sampled_from([np.float32, np.float64, np.int32, np.uint8, np.bool_]), hnp.array_shapes(max_dims=3)),
    st.data(),
)
def test_any_flipped_bit_is_drift_and_none_is_not(array: np.ndarray, data: st.DataObject) -> None:
    assert compare(bitwise(), array, array.copy()).verdict is Verdict.PASS
    at = data.draw(st.integers(0, array.size - 1))
    if array.dtype == np.bool_:
        other = changed(array.reshape(-1), at, ~array.reshape(-1)[at]).reshape(array.shape)
    else:
        raw = array.reshape(-1).view(f"u{array.dtype.itemsize}").copy()
        raw[at] ^= raw.dtype.type(1 << data.draw(st.integers(0, 8 * array.dtype.itemsize - 1)))
        other = raw.view(array.dtype).reshape(array.shape)
    found = compare(bitwise(), array, other)
    assert (found.verdict, found.differing) == (Verdict.DRIFT, 1)
    assert found.first.index == tuple(int(i) for i in np.unravel_index(at, array.shape))
    assert found.first.baseline_bits != found.first.candidate_bits
    assert sum(found.histogram.values()) >= array.size - 1


@given(hnp.arrays(np.float32, (3, 7)), hnp.arrays(np.float32, (3, 7)), st.integers(0, 2**20))
def test_ulp_agrees_with_python(a: np.ndarray, b: np.ndarray, n: int) -> None:
    def ordered(value: np.float32) -> int:
        raw = int(np.asarray([value]).view(np.int32)[0])
        return raw if raw >= 0 else -(raw & 0x7FFFFFFF)

    def fits(x: np.float32, y: np.float32) -> bool:
        if np.isnan(x) or np.isnan(y):
            return bool(np.isnan(x) and np.isnan(y))
        if np.isinf(x) or np.isinf(y):
            return bool(x == y)
        return abs(ordered(x) - ordered(y)) <= n

    expected = sum(not fits(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    if a.any() and all(fits(x, np.float32(0)) for x in a.flat):
        with pytest.raises(InputError, match="vacuous"):
            compare(ulp(n), a, b)
        return
    found = compare(ulp(n), a, b)
    assert found.differing == expected
    assert (found.verdict is Verdict.PASS) == (expected == 0)

"""cuRAND's maps from words to numbers: exact ones as integers, normals in ULP with the largest that was seen."""

from __future__ import annotations

import numpy as np
import pytest

from deepinfer.rng import StreamKey, log_normal, maps, normal, normal_double, poisson, uniform2_double, uniform_double
from deepinfer.rng.reference import uniform_from_words, words_many
from harness.bits import ulp_distance, ulp_of_at_least

Golden = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def golden_words(golden_device: Golden) -> np.ndarray:
    return words_many(*golden_device["cases"].T, 16)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (0, 2.0**-33),
        (1, 2.0**-32 + 2.0**-33),
        (0x7FFFFFFF, 0.5),
        (0x80000000, 0.5),
        (0x80000001, 0.5),
        (0xFFFFFF7F, 1 - 2.0**-24),
        (0xFFFFFF80, 1.0),
        (0xFFFFFFFF, 1.0),
    ],
)
def test_uniform_edges(word: int, value: float) -> None:
    assert float(uniform_from_words(np.asarray([word], np.uint32))[0]) == value


def test_uniform_is_one_for_the_top_128_words_alone() -> None:
    top = np.arange(2**32 - 1000, 2**32, dtype=np.uint64).astype(np.uint32)
    assert int((uniform_from_words(top) == 1).sum()) == 128
    assert (uniform_from_words(top)[-128:] == 1).all()


def test_double_maps_equal_the_h200(golden_words: np.ndarray, golden_device: Golden) -> None:
    scalar = maps.uniform_double_from_words(golden_words[:, :4])
    np.testing.assert_array_equal(scalar.view(np.uint64), golden_device["uniform_d"].view(np.uint64))
    pair = maps.uniform2_double_from_words(golden_words[:, :4])
    np.testing.assert_array_equal(pair.view(np.uint64), golden_device["uniform2d"].view(np.uint64))


def test_double_edges() -> None:
    ends = np.asarray([0, 0xFFFFFFFF], np.uint32)
    assert maps.uniform_double_from_words(ends).tolist() == [2.0**-32, 1.0]
    wide = np.asarray([0, 0, 0xFFFFFFFF, 0xFFFFFFFF], np.uint32)
    assert maps.wide_from_words(wide).tolist() == [0, 0xFFFFFFFF ^ (0xFFFFFFFF << 21)]
    assert maps.uniform2_double_from_words(wide)[0] == 2.0**-54


def test_normals_against_the_h200(golden_words: np.ndarray, golden_device: Golden) -> None:
    """The GPU's sine is a hardware approximation with an absolute error: 14 units of the last place of max(|x|, 1)
    were seen. As plain ULP that is up to 6663, beside a zero of the sine; a wrong word is off by millions."""
    got = maps.normal_from_words(golden_words[:, :8])
    assert ulp_of_at_least(golden_device["normal"], got, 1.0).max() <= 14
    assert ulp_of_at_least(golden_device["normal4"], got[:, :4], 1.0).max() <= 14
    swapped = got.reshape(-1, 4, 2)[:, :, ::-1].reshape(got.shape)
    assert np.median(ulp_distance(golden_device["normal"], swapped)) > 10**6


def test_double_normals_against_the_h200(golden_words: np.ndarray, golden_device: Golden) -> None:
    """2 ULP were seen."""
    got = maps.normal_double_from_words(golden_words[:, :8])
    assert ulp_distance(golden_device["normal_d"], got).max() <= 2


def test_log_normals_against_the_h200(golden_words: np.ndarray, golden_device: Golden) -> None:
    """23 ULP were seen."""
    got = maps.log_normal_from_normal(maps.normal_from_words(golden_words[:, :4]), 0.5, 1.25)
    assert ulp_distance(golden_device["lognormal"], got).max() <= 23


def test_normal_of_a_uniform_of_one_is_zero() -> None:
    assert maps.normal_from_words(np.asarray([0xFFFFFFFF, 5], np.uint32)).tolist() == [0, 0]


@pytest.mark.parametrize(("column", "lam"), [(0, 0.5), (4, 20.0), (8, 6000.0)])
def test_poisson_equals_the_h200(golden_device: Golden, column: int, lam: float) -> None:
    expected = golden_device["poisson"][:, column : column + 4]
    got = [poisson(StreamKey(int(s), int(q)), int(o), 4, lam) for s, q, o in golden_device["cases"]]
    np.testing.assert_array_equal(np.stack(got), expected)


def test_public_maps_read_consecutive_words() -> None:
    """Value i of a stream is the same however many are asked for, odd counts included."""
    key = StreamKey(8, 9)
    for function, per_value in ((uniform_double, 1), (uniform2_double, 2), (normal, 1), (normal_double, 2)):
        whole = function(key, 5, 8)
        assert len(whole) == 8
        np.testing.assert_array_equal(function(key, 5, 7), whole[:7])
        np.testing.assert_array_equal(function(key, 5 + 4 * per_value, 4), whole[4:])
    np.testing.assert_array_equal(log_normal(key, 5, 3, 0.0, 1.0), np.exp(normal(key, 5, 3).astype(float)).astype("f4"))

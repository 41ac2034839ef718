"""`native` at sizes where SIMD steps, threads and rows meet: bits depend on none of them."""

from __future__ import annotations

import numpy as np
import pytest

from deepinfer.cpu import Level, supported_levels
from deepinfer.errors import InputError
from deepinfer.rng import reference, uniform_many, words_many

LONG = 300_007


@pytest.fixture(scope="module")
def keys() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(71)
    seeds, subsequences, starts = (random.integers(0, 2**64, 3, dtype=np.uint64) for _ in range(3))
    starts[:2] = 2**64 - 3, 2**36 - 2 * LONG  # the second: the low counter word wraps inside
    return seeds, subsequences, starts


@pytest.fixture(scope="module")
def expected(keys: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    return reference.words_many(*keys, LONG)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("level", supported_levels())
def test_long_rows(keys: tuple[np.ndarray, ...], expected: np.ndarray, level: Level, threads: int) -> None:
    options = {"backend": "native", "level": level, "threads": threads}
    np.testing.assert_array_equal(words_many(*keys, LONG, **options), expected)
    floats = uniform_many(*keys, LONG, **options)
    np.testing.assert_array_equal(floats.view(np.uint32), reference.uniform_from_words(expected).view(np.uint32))


def test_many_short_rows_over_threads() -> None:
    random = np.random.default_rng(72)
    keys = [random.integers(0, 2**64, 70_001, dtype=np.uint64) for _ in range(3)]
    expected = reference.words_many(*keys, 3)
    for threads in (1, 2):
        np.testing.assert_array_equal(words_many(*keys, 3, "native", threads=threads), expected)


def test_the_buffer_of_the_caller_is_filled() -> None:
    key = [np.asarray([x], np.uint64) for x in (1, 2, 3)]
    out = np.zeros((1, 9), np.uint32)
    assert words_many(*key, 9, "native", out=out) is out
    np.testing.assert_array_equal(out, reference.words_many(*key, 9))
    for wrong in (out[:, ::2], out.astype(np.int32)):
        with pytest.raises(InputError, match="out"):
            words_many(*key, wrong.shape[1], "native", out=wrong)
    with pytest.raises(InputError, match=r"out has shape \(1, 9\): give \(1, 8\)"):
        words_many(*key, 8, "native", out=out)

"""What the public functions refuse: one line that says what was got and what is allowed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from deepinfer import rng
from deepinfer.errors import InputError, MissingExtra
from deepinfer.rng import BACKENDS, StreamKey, words, words_many

KEY = StreamKey(1, 2)


@pytest.mark.parametrize("value", [-1, 2**64, 1.0, "1", None])
def test_seed_subsequence_and_start_are_unsigned_64_bits(value: Any) -> None:
    with pytest.raises(InputError, match=r"^seed is .*: give an integer from 0 to 2\^64 - 1$"):
        StreamKey(value, 0)
    with pytest.raises(InputError, match=r"^subsequence is"):
        StreamKey(0, value)
    with pytest.raises(InputError, match=r"^start is"):
        words(KEY, value, 1)


def test_largest_and_smallest_values_are_allowed() -> None:
    for value in (0, 2**64 - 1, np.uint64(2**64 - 1)):
        assert words(StreamKey(value, value), value, 1).shape == (1,)


@pytest.mark.parametrize("count", [-1, 2**40 + 1, 1.5, "4", None])
def test_count(count: Any) -> None:
    for function in (rng.words, rng.uniform, rng.uniform_double, rng.uniform2_double, rng.normal, rng.normal_double):
        with pytest.raises(InputError, match=r"^count is .*: give an integer from 0 to 2\^40$"):
            function(KEY, 0, count)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([-1], [0], [0]), r"seeds\[0\] is -1"),
        (([0], [1, 2**64], [0]), r"subsequences\[1\] is 18446744073709551616"),
        (([0], [0], np.asarray([0, -3])), r"starts\[1\] is -3"),
        (([0.5], [0], [0]), r"seeds\[0\] is 0\.5"),
        (([0], np.asarray([1.0]), [0]), r"subsequences\[0\] is 1\.0"),
        ((np.zeros((2, 2), np.uint64), [0], [0]), r"seeds have shape \(2, 2\): give one dimension"),
        (
            ([1, 2], [1, 2, 3], [0]),
            "got 2 seeds, 3 subsequences, 1 starts: give as many of each, or one that all share",
        ),
    ],
)
def test_arrays_of_keys(arrays: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        words_many(*arrays, 4)


def test_every_integer_type_names_the_same_stream() -> None:
    expected = words(StreamKey(2**31 + 5, 7), 9, 5)
    for seeds in ([2**31 + 5], np.asarray([2**31 + 5], np.int64), np.asarray([2**31 + 5], np.uint32), 2**31 + 5):
        np.testing.assert_array_equal(words_many(seeds, 7, np.asarray([9], np.uint8), 5)[0], expected)
    mixed = words_many([2**64 - 1, 1], 7, 9, 5)
    np.testing.assert_array_equal(mixed[1], words(StreamKey(1, 7), 9, 5))


def test_key_must_be_a_stream_key() -> None:
    with pytest.raises(InputError, match=r"^key is 42: give StreamKey\(seed, subsequence\)$"):
        words(42, 0, 1)  # type: ignore[arg-type]


def test_unknown_backend_lists_the_known() -> None:
    known = ", ".join(BACKENDS)
    assert known == "reference, native, torch, triton, cuda"
    with pytest.raises(InputError, match=f"^unknown RNG backend 'auto': known are {known}$"):
        words(KEY, 0, 1, "auto")


@pytest.mark.parametrize(
    ("backend", "options", "message"),
    [
        ("reference", {"threads": 2}, "unknown option of backend 'reference' 'threads': known are none"),
        ("native", {"device": "cpu"}, "unknown option of backend 'native' 'device': known are level, threads, out"),
        ("native", {"threads": 0}, "threads is 0: give an integer from 1 to 1024"),
        ("native", {"threads": 1.0}, r"threads is 1\.0"),
        ("native", {"level": "avx10"}, "unknown SIMD level on this CPU 'avx10': known are scalar"),
        ("torch", {"device": "nowhere"}, "device is 'nowhere', which torch cannot use"),
        ("triton", {"device": "cuda"}, "device is 'cuda': Triton's interpreter"),
    ],
)
def test_options(backend: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        words(KEY, 0, 1, backend, **options)


@pytest.mark.parametrize("absent", ["torch", "triton"])
def test_absent_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.delitem(sys.modules, BACKENDS[absent], raising=False)
    with pytest.raises(MissingExtra, match=rf"RNG backend '{absent}' needs '{absent}'.*deepinfer-repro\[engine\]"):
        words(KEY, 0, 1, absent)


@pytest.mark.parametrize("lam", [0, -1.0, float("nan"), float("inf"), 2.0**32])
def test_poisson_mean(lam: float) -> None:
    with pytest.raises(InputError, match=r"^lam is .*: give a mean above 0 and at most 2\^31$"):
        rng.poisson(KEY, 0, 1, lam)


@pytest.mark.parametrize("lam", [64, 1000.0, 4000.0])
def test_poisson_means_that_are_not_offered(lam: float) -> None:
    with pytest.raises(InputError, match=r"means from 64 to 4000 are not offered"):
        rng.poisson(KEY, 0, 1, lam)

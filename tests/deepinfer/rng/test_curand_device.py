"""NVIDIA's curand_kernel.h, compiled for the CPU, beside our words and maps at random keys."""

from __future__ import annotations

import numpy as np
import pytest

from deepinfer import rng
from deepinfer.errors import InputError
from deepinfer.rng import StreamKey
from deepinfer.rng.curand_oracle import DEVICE_KINDS, curand_device
from harness.bits import ulp_distance, ulp_of_at_least

ODD = (2**32 - 1, 2**32, 2**63, 2**64 - 1)


def keys(seed: int, count: int) -> list[tuple[StreamKey, int]]:
    random = np.random.default_rng(seed)
    drawn = [[int(x) for x in random.integers(0, 2**64, 3, dtype=np.uint64)] for _ in range(count)]
    drawn += [[a, b, c] for a in ODD for b in ODD for c in (*ODD, 2**64 - 2, 2**34 - 2)]
    return [(StreamKey(a, b), c) for a, b, c in drawn]


@pytest.mark.parametrize("kind", ["u32", "uniform", "uniform_double", "uniform2_double"])
def test_exact_kinds_at_random_keys(rng_seed: int, kind: str) -> None:
    function = rng.words if kind == "u32" else getattr(rng, kind)
    for key, offset in keys(rng_seed, 100):
        theirs = curand_device(key.seed, key.subsequence, offset, 37, kind)
        ours = function(key, offset, 37)
        assert theirs.dtype == ours.dtype == DEVICE_KINDS[kind]
        np.testing.assert_array_equal(theirs.view(np.uint32), ours.view(np.uint32))


def test_the_oracle_equals_the_h200(golden_device: dict[str, np.ndarray]) -> None:
    """The header built for the CPU is the same generator as on the GPU."""
    for (seed, subsequence, offset), expected in zip(golden_device["cases"], golden_device["u32"], strict=True):
        got = curand_device(int(seed), int(subsequence), int(offset), 16)
        np.testing.assert_array_equal(got, expected)


def test_floats_at_random_keys(rng_seed: int) -> None:
    """Largest seen: normal 3 ULP, log_normal(0.5, 1.25) 8 ULP. The header's double normal multiplies its angle by pi
    in float64, so beside a zero of the sine it is itself off: 12 units of the last place of max(|x|, 1) were seen."""
    for key, offset in keys(rng_seed, 24)[::5]:
        at = (key.seed, key.subsequence, offset, 5001)
        assert ulp_distance(curand_device(*at, "normal"), rng.normal(key, offset, 5001)).max() <= 3
        theirs = curand_device(*at, "log_normal", mean=0.5, stddev=1.25)
        assert ulp_distance(theirs, rng.log_normal(key, offset, 5001, 0.5, 1.25)).max() <= 8
        doubles = rng.normal_double(key, offset, 5001)
        assert ulp_of_at_least(curand_device(*at, "normal_double"), doubles, 1.0).max() <= 12


@pytest.mark.parametrize("lam", [1e-3, 0.5, 7.25, 63.99, 4000.5, 6000.0, 1e9])
def test_poisson_at_random_keys(rng_seed: int, lam: float) -> None:
    for key, offset in keys(rng_seed, 24)[::3]:
        theirs = curand_device(key.seed, key.subsequence, offset, 25, "poisson", lam=lam)
        np.testing.assert_array_equal(theirs, rng.poisson(key, offset, 25, lam))


def test_one_word_late_is_noticed() -> None:
    theirs = curand_device(3, 4, 5, 1000)
    assert (theirs != rng.words(StreamKey(3, 4), 6, 1000)).all()
    assert (theirs != rng.words(StreamKey(3, 5), 5, 1000)).all()


def test_unknown_kind() -> None:
    with pytest.raises(InputError, match="unknown kind of the cuRAND device API 'gamma': known are u32, uniform"):
        curand_device(1, 2, 3, 4, "gamma")

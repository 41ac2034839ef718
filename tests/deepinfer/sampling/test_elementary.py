"""exp and log of the native samplers: close to the true value, and the same bits at every SIMD level."""

from __future__ import annotations

import numpy as np
import pytest

from deepinfer.native import supported_levels
from deepinfer.sampling.elementary import exp32, log32

EXP_KNOWN = [
    (0.0, 1.0),
    (-0.0, 1.0),
    (-np.inf, 0.0),
    (-200.0, 0.0),
    (-103.97208, 1e-45),
    (-103.98, 0.0),
    (89.0, np.inf),
    (np.inf, np.inf),
    (1.0, float(np.float32(np.e))),
    (1e-45, 1.0),
]


@pytest.fixture
def arguments(generator: np.random.Generator) -> np.ndarray:
    """Every magnitude of negative argument, the range that matters densely, and a few positive ones."""
    magnitudes = (generator.integers(0, 0x42D00000, 400_000, np.uint32) | np.uint32(1 << 31)).view(np.float32)
    near = -generator.random(400_000, np.float32) * np.float32(25)
    return np.concatenate([magnitudes, near, generator.random(100_001, np.float32) * np.float32(88)])


def test_exp32_is_within_0_9_ulp(arguments: np.ndarray) -> None:
    true = np.exp(arguments.astype(np.float64))
    below = np.exp2(np.floor(np.log2(true)))  # the power of two at or below
    ulp = np.maximum(below * 2.0**-23, 2.0**-149)
    error = np.abs(exp32(arguments).astype(np.float64) - true) / ulp
    normal = true >= 2.0**-126
    assert error[normal].max() <= 0.9
    assert error[~normal].max() <= 1
    assert np.count_nonzero(~normal) > 100


@pytest.mark.parametrize(("x", "expected"), EXP_KNOWN)
def test_exp32_known(x: float, expected: float) -> None:
    assert exp32([x]).view(np.uint32) == np.asarray([expected], np.float32).view(np.uint32)


def test_exp32_overflows_where_it_must() -> None:
    largest = np.float32(88.72283)
    assert np.isfinite(exp32([largest]))[0]
    assert np.isinf(exp32([np.nextafter(largest, np.float32(100))]))[0]


def test_log32_rounds_once(generator: np.random.Generator) -> None:
    bits = generator.integers(1, 0x7F800000, 300_000, np.uint32)
    near_one = (np.float32(1) + generator.standard_normal(50_000) * 1e-3).astype(np.float32)
    x = np.concatenate([bits.view(np.float32), near_one, np.asarray([1, 1e-45, 2**-126, 3e38], np.float32)])
    assert np.array_equal(log32(x).view(np.uint32), np.log(x.astype(np.float64)).astype(np.float32).view(np.uint32))
    assert log32([0.0])[0] == -np.inf


def test_levels_and_threads(arguments: np.ndarray) -> None:
    expected_exp, expected_log = exp32(arguments, level="scalar", threads=1), log32(np.abs(arguments), level="scalar")
    for level in supported_levels():
        for threads in (1, 3):
            assert exp32(arguments, level=level, threads=threads).tobytes() == expected_exp.tobytes()
            assert log32(np.abs(arguments), level=level, threads=threads).tobytes() == expected_log.tobytes()


def test_shape_is_kept() -> None:
    x = np.linspace(-5, 0, 3 * 7, dtype=np.float32).reshape(3, 7)
    assert exp32(x).shape == (3, 7)
    assert exp32(x.T.copy()).tobytes() == exp32(x).T.copy().tobytes()
    assert exp32(np.empty((0, 4), np.float32)).shape == (0, 4)

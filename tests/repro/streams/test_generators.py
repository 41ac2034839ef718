"""Published known answers of the block functions and of the standard's engine."""

from __future__ import annotations

import numpy as np
import pytest

from repro.streams import stream
from repro.streams.philox2x32 import philox2x32
from repro.streams.philox4x64 import philox4x64
from repro.streams.threefry2x32 import threefry2x32

PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0), 0, (0xFF1DAE59, 0x6CD10DF2)),
        ((ONES, ONES), ONES, (0x2C3F628B, 0xAB4FD7AD)),
        (PI[:2], PI[2], (0xDD7CE038, 0xF62A4C12)),
    ],
)
def test_philox2x32(counter: tuple[int, int], key: int, expected: tuple[int, int]) -> None:
    assert philox2x32(np.asarray(counter, np.uint32), np.asarray(key, np.uint32)).tolist() == list(expected)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
        (PI[:2], PI[2:], (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry2x32(counter: tuple[int, int], key: tuple[int, int], expected: tuple[int, int]) -> None:
    assert threefry2x32(np.asarray(counter, np.uint32), np.asarray(key, np.uint32)).tolist() == list(expected)


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (0, (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)),
        (2**64 - 1, (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0)),
    ],
)
def test_philox4x64(fill: int, expected: tuple[int, ...]) -> None:
    counter, key = np.full((1, 4), fill, np.uint64), np.full((1, 2), fill, np.uint64)
    assert philox4x64(counter, key)[0].tolist() == list(expected)


def test_numpys_philox_increments_before_use(generator: np.random.Generator) -> None:
    for seed in generator.integers(0, 2**63, 4).tolist():
        engine = np.random.Philox(seed)
        key = engine.state["state"]["key"]
        counters = np.zeros((3, 4), np.uint64)
        counters[:, 0] = [1, 2, 3]
        assert np.array_equal(philox4x64(counters, key[None, :]).ravel(), engine.random_raw(12))


def test_the_standards_ten_thousandth_number() -> None:
    assert stream("std_philox4x32", "26", seed=20111115).words(10000)[-1] == 1955073260

"""cuRAND's host API: recordings of it, and the real library beside our words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from deepinfer.rng import words_many
from deepinfer.rng.curand_host import curand_host_values, curand_host_words
from deepinfer.rng.curand_oracle import HOST_KINDS, ORDERINGS, curand_host
from harness.bits import ulp_distance, ulp_of_at_least

CALLS = {"u32": 0, "uniform": 1, "normal": 2}
"""One generator made each recording, in this order: call number k begins at output k * n."""
STABLE = ("gpu.best", "gpu.default", "gpu.legacy", "cpu.best", "cpu.default", "cpu.legacy")


def recorded(golden: dict[str, np.ndarray], kind: str) -> list[tuple[str, np.ndarray, int, np.ndarray]]:
    """(name, recorded values, offset of its call, their indices) of the orderings with a promised layout."""
    found = []
    for name, values in golden.items():
        if name.endswith(f".{kind}") and name.startswith(STABLE):
            count = int(re.search(r"\.n(\d+)\.", name)[1])  # type: ignore[index]
            index = np.arange(count)
            if count == 300_000:
                index = np.r_[0:64, 65530:65546, 131066:131082, 262138:262150, count - 64 : count]
            found.append((name, values, CALLS[kind] * count, index))
    assert len(found) == 12
    return found


def test_recorded_words(variant: dict[str, Any], golden_host: dict[str, np.ndarray]) -> None:
    ours: dict[int, np.ndarray] = {}
    for name, values, offset, index in recorded(golden_host, "u32"):
        runs = np.split(index, np.flatnonzero(np.diff(index) > 1) + 1)
        if len(index) not in ours:
            parts = [curand_host_words(1234, offset + int(run[0]), len(run), **variant) for run in runs]
            ours[len(index)] = np.concatenate(parts)
        np.testing.assert_array_equal(ours[len(index)], values.view(np.uint32), name)


def test_recorded_uniforms(golden_host: dict[str, np.ndarray]) -> None:
    for name, values, offset, index in recorded(golden_host, "uniform"):
        ours = curand_host_values(1234, offset, int(index[-1]) + 1, "uniform")[index]
        np.testing.assert_array_equal(ours.view(np.uint32), values.view(np.uint32), name)


def test_recorded_normals(golden_host: dict[str, np.ndarray]) -> None:
    """The GPU: 15 units of the last place of max(|x|, 1) were seen. The CPU: 2 ULP."""
    for name, values, offset, index in recorded(golden_host, "normal"):
        ours = curand_host_values(1234, offset, int(index[-1]) + 1, "normal")[index]
        if name.startswith("cpu"):
            assert ulp_distance(values, ours).max() <= 2, name
        else:
            assert ulp_of_at_least(values, ours, 1.0).max() <= 15, name


def test_a_million_words_at_random_offsets_and_every_ordering(rng_seed: int) -> None:
    random = np.random.default_rng(rng_seed)
    compared = 0
    for ordering in ORDERINGS:
        for bits in (0, 18, 20, 34, 50, 62, 63):
            seed, offset = int(random.integers(0, 2**64, dtype=np.uint64)), int(random.integers(0, 1 << bits))
            count = int(random.integers(48_000, 56_000))
            ours = curand_host_words(seed, offset, count, "native")
            np.testing.assert_array_equal(curand_host(seed, offset, count, ordering), ours)
            compared += count
    assert compared >= 10**6


def test_turns_of_one_subsequence_at_a_time(rng_seed: int) -> None:
    """Four turns and more in one request, so that every subsequence is met again."""
    count = 4 * 65536 * 4 + 9
    np.testing.assert_array_equal(curand_host(rng_seed, 3, count), curand_host_words(rng_seed, 3, count, "native"))


def test_one_output_late_is_noticed() -> None:
    theirs = curand_host(5, 0, 4096)
    assert (theirs != curand_host_words(5, 1, 4096)).all()
    stream = words_many([5], [0], [0], 4096)[0]
    assert (theirs != stream)[4:].all()  # the host API does not walk one subsequence


@pytest.mark.parametrize("offset", [0, 1, 2, 3, 262_143, 262_147, 2**40 + 1])
def test_every_kind(offset: int) -> None:
    count = 300_001
    for kind in HOST_KINDS:
        theirs = curand_host(77, offset, count, "best", kind)
        ours = curand_host_values(77, offset, count, kind)
        assert theirs.dtype == ours.dtype
        assert ulp_distance(theirs, ours).max() <= (3 if kind == "normal" else 0), kind


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ordering": "seeded"}, "unknown cuRAND ordering 'seeded': known are best, default, legacy"),
        ({"kind": "poisson"}, "unknown kind .*known are u32, uniform, uniform2_double, normal"),
        ({"seed": 2**64}, "seed is 18446744073709551616"),
        ({"offset": -1}, "offset is -1"),
        ({"count": -1}, "count is -1"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        curand_host(**{"seed": 1, "offset": 0, "count": 4, **arguments})
    if "ordering" not in arguments:
        with pytest.raises(InputError, match=message):
            curand_host_values(**{"seed": 1, "offset": 0, "count": 4, "kind": "u32", **arguments})

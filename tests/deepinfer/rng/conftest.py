"""Every way to compute words on this machine: the backends, and `native` at each SIMD level and thread count.

Triton runs in its interpreter (tests/conftest.py sets TRITON_INTERPRET before anything imports triton).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepinfer.cpu import supported_levels
from deepinfer.rng import uniform_many, words_many

DATA = Path(__file__).parents[2] / "data"

VARIANTS: dict[str, dict[str, Any]] = {
    "reference": {"backend": "reference"},
    "torch": {"backend": "torch"},
    "triton": {"backend": "triton"},
    **{
        f"native-{level.name.lower()}-{threads}": {"backend": "native", "level": level, "threads": threads}
        for level in supported_levels()
        for threads in (1, 2)
    },
}


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> dict[str, Any]:
    return VARIANTS[request.param]


@pytest.fixture
def many_words(variant: dict[str, Any]) -> Any:
    """words_many on one variant: (seeds, subsequences, starts, count)."""
    return partial(words_many, **variant)


@pytest.fixture
def many_uniforms(variant: dict[str, Any]) -> Any:
    return partial(uniform_many, **variant)


@pytest.fixture(scope="session")
def golden_device() -> dict[str, np.ndarray]:
    """What an H200's curand_kernel.h returned for 480 keys."""
    return dict(np.load(DATA / "curand_device.npz"))


@pytest.fixture(scope="session")
def golden_host() -> dict[str, np.ndarray]:
    """What curandGenerate* returned on an H200 (`gpu.`) and on a CPU (`cpu.`) for seed 1234."""
    return dict(np.load(DATA / "curand_host.npz"))

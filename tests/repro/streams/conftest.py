"""Recorded outputs of other systems' own code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

DATA = Path(__file__).parents[2] / "data"
Arrays = dict[str, NDArray[np.generic]]


def load(name: str) -> Arrays:
    with np.load(DATA / name, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


@pytest.fixture(scope="session")
def zoo_cpu() -> Arrays:
    return load("streams/zoo_cpu.npz")


@pytest.fixture(scope="session")
def zoo_gpu() -> Arrays:
    return load("streams/zoo_gpu.npz")


@pytest.fixture(scope="session")
def torch_cuda() -> Arrays:
    return load("streams/torch_cuda.npz")


@pytest.fixture(scope="session")
def triton_gpu() -> Arrays:
    return load("streams/triton_gpu.npz")


@pytest.fixture(scope="session")
def curand_device() -> Arrays:
    return load("curand_device.npz")


@pytest.fixture(scope="session")
def curand_host() -> Arrays:
    return load("curand_host.npz")

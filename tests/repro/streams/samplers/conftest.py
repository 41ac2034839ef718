"""The rows, seeds and positions that every recorded sampler was given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

ROOT = Path(__file__).parents[4]
Arrays = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Zoo:
    """`logits` float32[64, 4096], `seeds` and `positions` int64[64], `cpu`, `gpu` and `flashinfer` the recordings."""

    logits: NDArray[np.float32]
    seeds: NDArray[np.int64]
    positions: NDArray[np.int64]
    cpu: Arrays
    gpu: Arrays
    flashinfer: Arrays
    versions: Arrays


def load(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


@pytest.fixture(scope="session")
def zoo() -> Zoo:
    data = ROOT / "tests" / "data" / "streams"
    cpu = load(data / "zoo_cpu.npz")
    with np.load(ROOT / "harness" / "data" / "deepinfer-0.1.0" / "real.npz") as file:
        logits = file["logits"][:64]
    return Zoo(
        logits=logits,
        seeds=cpu["inputs.seeds"],
        positions=cpu["inputs.positions"],
        cpu=cpu,
        gpu=load(data / "zoo_gpu.npz"),
        flashinfer=load(data / "flashinfer.npz"),
        versions=load(data / "vllm_v2_versions.npz"),
    )


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp((logits - logits.max(axis=1, keepdims=True)).astype(np.float64))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)

"""The rows that the GPU parts share: recorded real logits, and edge rows made from Philox words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from deepinfer.rng.reference import words_many
from deepinfer.sampling import SamplerInputs

DATA = Path(__file__).parents[2] / "harness" / "data" / "deepinfer-0.1.0"
CONFIGS = {
    "engine": (1.0, 0.99, -1),
    "narrow": (1.0, 0.5, 128),
    "nofilter": (1.0, 1.0, -1),
    "k50p.9": (1.0, 0.9, 50),
    "k1": (1.0, 1.0, 1),
    "greedyish": (1e-5, 1.0, -1),
}


def real(config: str) -> tuple[SamplerInputs, dict[str, Any]]:
    """The 250 real rows under `config`, and what DeepInfer 0.1.0 answered."""
    data = np.load(DATA / "real.npz")
    temperature, top_p, top_k = CONFIGS[config]
    recorded = {name.removeprefix(f"{config}."): data[name] for name in data.files if name.startswith(f"{config}.")}
    return SamplerInputs(data["logits"], temperature, top_p, top_k, data["seeds"], data["positions"]), recorded


def edges(rows: int, columns: int, seed: int) -> SamplerInputs:
    """Rows full of ties, both zeros, -inf, subnormals and extreme temperatures; every filter combination."""
    key = np.asarray([seed], np.uint64)
    words = words_many(key, key, np.zeros(1, np.uint64), rows * (columns + 4))[0].reshape(rows, columns + 4)
    body, head = words[:, 4:], words[:, :4].astype(np.int64)
    values = np.asarray([-np.inf, -0.0, 0.0, 1e-40, -1e-40, 1.0, 1.0, 2.5, -3.0, 20.0, -60.0, 0.125], np.float32)
    smooth = (body.astype(np.float32) * np.float32(2.0**-28) - 8).astype(np.float32)
    logits = np.where(head[:, :1] % 2 == 0, values[body % len(values)], smooth).astype(np.float32)
    logits[np.isneginf(logits).all(axis=1), 0] = 0
    return SamplerInputs(
        logits,
        temperature=np.asarray([1.0, 0.7, 1.5, 1e-5, 1e-38, 1e30, 0.0], np.float32)[head[:, 1] % 7],
        top_p=np.asarray([1.0, 0.99, 0.5, 1e-6, 2.2e-16], np.float32)[head[:, 2] % 5],
        top_k=np.asarray([-1, 1, 2, 50, columns + 5], np.int64)[head[:, 3] % 5],
        seq_seed=np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15),
        position=np.arange(rows, dtype=np.int64) * 7919,
    )

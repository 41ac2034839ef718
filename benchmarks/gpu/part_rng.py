"""Philox words on the GPU, Triton's and CUDA's, against the recorded words of cuRAND's device generator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from deepinfer.rng import uniform_many, words_many

GOLDEN = Path(__file__).parents[2] / "tests" / "data" / "curand_device.npz"


def run(out: Path) -> dict[str, Any]:
    golden = np.load(GOLDEN)
    seeds, subsequences, starts = (np.ascontiguousarray(golden["cases"][:, i]) for i in range(3))
    mismatches: dict[str, int] = {}
    for backend in ("triton", "cuda"):
        words = words_many(seeds, subsequences, starts, 16, backend=backend)
        uniforms = uniform_many(seeds, subsequences, starts, 8, backend=backend)
        mismatches[f"{backend}.words"] = int((words != golden["u32"]).sum())
        mismatches[f"{backend}.uniform"] = int((uniforms.view("u4") != golden["uniform"].view("u4")).sum())
        shifted = words_many(seeds, subsequences, starts + np.uint64(1), 16, backend=backend)
        mismatches[f"{backend}.control"] = int((shifted != golden["u32"]).sum())
    green = all((count == 0) != name.endswith("control") for name, count in mismatches.items())
    return {"check": "green" if green else "red", "cases": len(seeds), "mismatches": mismatches}

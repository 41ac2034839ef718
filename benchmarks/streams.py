"""Bar `streams`: certificates that are never wrong, ambiguous ones that are rare, and replayed tokens a second.

The check simulates engines whose exponentials and logarithms are off, at random, by as much as their documentation
allows, and looks for a token that a certificate excluded. Then the numpy twin's speed at a vocabulary of 129280.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import uniform_from_words
from repro.environment import facts as environment
from repro.streams.murmur3 import token_hashes
from repro.streams.samplers import AMBIGUOUS, Replay, replay
from repro.streams.samplers.sglang import gumbel as sglang_noise
from repro.streams.token_noise import vllm_uniform
from repro.streams.torch_cuda import TorchCuda

F32 = NDArray[np.float32]
COLUMNS, CHUNK = 256, 500
WIDE = 129280
GPU = {"sm_count": 132, "threads_per_sm": 2048}
NEAR_ONE = 2.0**-21.41


def off(values: NDArray[np.float64], units: float, draw: np.random.Generator) -> F32:
    """float32 values up to `units` units in the last place away."""
    plain = values.astype(np.float32)
    return (values + draw.uniform(-units, units, values.shape) * np.spacing(np.abs(plain))).astype(np.float32)


def softmax32(rows: F32, draw: np.random.Generator) -> F32:
    powers = off(np.exp((rows - rows.max(axis=1, keepdims=True)).astype(np.float64)), 2, draw)
    return powers / powers.sum(axis=1, keepdims=True)


def vllm_v1(rows: F32, seeds: list[int], draw: np.random.Generator) -> tuple[Replay, NDArray[np.int64]]:
    """__logf within 2^-21.41 from a half on and 3 units below, exp within 2 units."""
    made = replay("vllm_v1_cuda", "0.33.0", rows, seed=seeds, offset=0, generator="request", **GPU)
    u = np.stack([uniform_from_words(TorchCuda(seed, 0, 132, 2048).words(rows.shape[1])) for seed in seeds])
    true = np.log(u.astype(np.float64))
    moved = np.where(u >= 0.5, true + draw.uniform(-NEAR_ONE, NEAR_ONE, u.shape), off(true, 3, draw))
    q = np.where(u >= 1 - 2.0**-24, 2.0**-24, -moved).astype(np.float32)
    return made, (softmax32(rows, draw) / q).argmax(axis=1)


def vllm_v2(rows: F32, seeds: list[int], draw: np.random.Generator) -> tuple[Replay, NDArray[np.int64]]:
    """The kernel's float32 steps, each logarithm within a unit."""
    facts = {"seed": seeds, "position": 9, "role": "target", "precision": "float32"}
    made = replay("vllm_v2", "0.33.0", rows, **facts)
    u = vllm_uniform(token_hashes(seeds, [9] * len(seeds), np.arange(rows.shape[1])))
    series = np.full(u.shape, np.float32(1 / 8))
    for degree in (7, 6, 5, 4, 3, 2, 1):
        series = np.float32(1 / degree) + u * series
    direct = -off(np.log(np.maximum(np.float32(1) - u, np.float32(2.0**-24)).astype(np.float64)), 1, draw)
    inner = np.where(u < np.float32(0.25), u * series, direct)
    return made, (rows - off(np.log(inner.astype(np.float64)), 1, draw)).argmax(axis=1)


def sglang(rows: F32, seeds: list[int], draw: np.random.Generator) -> tuple[Replay, NDArray[np.int64]]:
    """A float32 logarithm of a float32 probability, noise in float64."""
    made = replay("sglang", "0.5.23", rows, seed=seeds, position=9, path="id")
    logprob = off(np.log(softmax32(rows, draw).astype(np.float64)), 1, draw)
    noise = sglang_noise(token_hashes(seeds, [9] * len(seeds), np.arange(rows.shape[1])))
    return made, (logprob.astype(np.float64) + noise).argmax(axis=1)


SIMULATED: dict[str, Callable[..., tuple[Replay, NDArray[np.int64]]]] = {
    "vllm_v1_cuda": vllm_v1,
    "vllm_v2": vllm_v2,
    "sglang": sglang,
}


def check(rows: int) -> dict[str, Any]:
    """Contradicted and ambiguous rows of each engine."""
    draw = np.random.default_rng(20240611)
    counts: dict[str, Any] = {"rows of each": rows, "contradicted": 0}
    for engine, simulate in SIMULATED.items():
        ambiguous = contradicted = differing = 0
        for start in range(0, rows, CHUNK):
            logits = (draw.normal(size=(min(CHUNK, rows - start), COLUMNS)) * draw.choice([1, 2, 4])).astype(np.float32)
            made, tokens = simulate(logits, draw.integers(0, 2**62, len(logits)).tolist(), draw)
            ambiguous += made.certificate.count(AMBIGUOUS)
            contradicted += int((~made.agrees(tokens)).sum())
            differing += int((made.tokens != tokens).sum())
        counts[f"{engine}: ambiguous, differing"] = [ambiguous, differing]
        counts["contradicted"] += contradicted
        counts[f"{engine}: control, tokens of the neighbour's row"] = int((~made.agrees(np.roll(tokens, 1))).sum())
        counts[f"{engine}: ambiguous share"] = ambiguous / rows
    return counts


def timed(rows: int) -> Iterator[tuple[str, float]]:
    """Tokens a second of the numpy twin, one thread's worth of numpy."""
    draw = np.random.default_rng(1)
    logits = (draw.normal(size=(rows, WIDE)) * 3).astype(np.float32)
    calls: dict[str, dict[str, Any]] = {
        "vllm_v1_cuda": {"version": "0.33.0", "seed": 5, "offset": 0, "generator": "request", **GPU},
        "vllm_v2": {"version": "0.33.0", "seed": 5, "position": 9, "role": "target", "precision": "float32"},
        "sglang": {"version": "0.5.23", "seed": 5, "position": 9, "path": "id"},
        "exact_sample": {"version": "1", "seed": 5, "position": 9, "numbering": "absolute"},
    }
    for engine, facts in calls.items():
        version = facts.pop("version")
        best = 0.0
        for _ in range(3):
            started = time.perf_counter()
            replay(engine, version, logits, **facts)
            best = max(best, rows / (time.perf_counter() - started))
        yield engine, round(best, 1)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2000 rows of each engine instead of 100000")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(argv)
    counts = check(2000 if given.quick else 100000)
    green = counts["contradicted"] == 0 and all(
        share <= 0.01 for name, share in counts.items() if name.endswith("ambiguous share")
    )
    green = green and all(count > 0 for name, count in counts.items() if "control" in name)
    print(counts, "green" if green else "red", flush=True)
    figures = dict(timed(4 if given.quick else 8)) if green else {}
    print(figures)
    record = {
        "bar": "streams",
        "check": {**counts, "green": green},
        "ratios": {},
        "figures": {f"{engine}, numpy twin, tokens/s at V 129280": rate for engine, rate in figures.items()},
        "environment": environment(),
    }
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())

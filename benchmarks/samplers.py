"""Bar `samplers`: the native samplers beside torch's sort, softmax, cumsum and multinomial, in rows a second.

The 250 real rows of 4096 columns, four times over, in one call; tokens only, 2 threads on both sides. `sample` is timed
as a caller calls it, with its checks of the inputs; `exact_sample` is compared with the float samplers on the kernels
alone, where those checks do not hide a difference. First the samplers are checked; where one is wrong no speed is
measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepinfer.native import best_level
from deepinfer.sampling import BACKENDS, SamplerInputs, sample
from deepinfer.sampling import reference as ref
from deepinfer.sampling.params import prepare
from repro.environment import facts

RECORDING = Path(__file__).parents[1] / "harness" / "data" / "deepinfer-0.1.0" / "real.npz"
CONFIGS = {"engine": (0.99, -1), "narrow": (0.5, 128), "k50p.9": (0.9, 50), "nofilter": (1.0, -1)}
FLOAT_SAMPLERS = ("two_level", "fused_sample")
SAMPLERS = (*FLOAT_SAMPLERS, "exact_sample")
THREADS = 2
TORCH_BAR = 25.0
EXACT_BAR = 1.2
TWIN_ROWS = 16
COPIES = 4


def inputs_of(data: Any, config: str) -> SamplerInputs:
    top_p, top_k = CONFIGS[config]
    return SamplerInputs(data["logits"], 1.0, top_p, top_k, data["seeds"], data["positions"])


def copies(data: dict[str, Any]) -> dict[str, Any]:
    """The rows COPIES times over, each copy with seeds of its own."""
    seeds = [data["seeds"] + np.uint64(copy) for copy in range(COPIES)]
    return {
        "logits": np.tile(data["logits"], (COPIES, 1)),
        "positions": np.tile(data["positions"], COPIES),
        "seeds": np.concatenate(seeds),
    }


def check(data: Any) -> dict[str, int]:
    """Rows compared and rows that differ. Float samplers: the draw repeated by the twin from the weights, and the kept
    columns against the recording; exact_sample: tokens and kept columns against its twin."""
    found: dict[str, int] = {}
    for config in CONFIGS:
        inputs = inputs_of(data, config)
        for name in FLOAT_SAMPLERS:
            got = sample(name, inputs, backend="native", numbering="deepinfer")
            record = got.record
            assert record.weights is not None
            assert record.kept is not None
            drawn = [
                ref.draw(weight, seed, subsequence, record.draw)
                for weight, seed, subsequence in zip(record.weights, record.seeds, record.subsequences, strict=True)
            ]
            wrong = np.asarray(
                [one is None or one.token != token for one, token in zip(drawn, got.tokens, strict=True)]
            )
            if f"{config}.keptbits" in data:
                wrong |= (np.packbits(record.kept, axis=1) != data[f"{config}.keptbits"]).any(axis=1)
            found[f"{name} {config}: rows"], found[f"{name} {config}: differ"] = len(wrong), int(wrong.sum())
        native, twin = (sample("exact_sample", inputs, backend=backend) for backend in ("native", "reference"))
        assert native.record.kept is not None
        assert twin.record.kept is not None
        wrong = (native.tokens != twin.tokens) | (native.record.kept != twin.record.kept).any(axis=1)
        found[f"exact_sample {config}: rows"], found[f"exact_sample {config}: differ"] = len(wrong), int(wrong.sum())
    return found


def torch_path(logits: torch.Tensor, top_p: float, top_k: int, generator: torch.Generator) -> torch.Tensor:
    """The usual sampler: softmax, sort, cumulative sum, cut, multinomial, back to columns."""
    probability = torch.softmax(logits / 1.0, dim=-1)
    ordered, columns = torch.sort(probability, dim=-1, descending=True)
    ordered.masked_fill_(torch.cumsum(ordered, dim=-1) - ordered > top_p, 0)
    if top_k > 0:
        ordered[:, top_k:] = 0
    drawn = torch.multinomial(ordered / ordered.sum(dim=-1, keepdim=True), 1, generator=generator)
    return columns.gather(1, drawn).squeeze(1)


def contenders(data: Any, config: str) -> dict[str, Callable[[], Any]]:
    """Every contender for one configuration by name; `kernel` ones start from checked inputs."""
    inputs = inputs_of(data, config)
    logits, generator = torch.from_numpy(data["logits"]), torch.Generator().manual_seed(0)
    top_p, top_k = CONFIGS[config]
    calls: dict[str, Callable[[], Any]] = {"torch": lambda: torch_path(logits, top_p, top_k, generator)}
    for name in SAMPLERS:
        plan, module = prepare(name, inputs), import_module(BACKENDS[name]["native"])
        calls[name] = partial(sample, name, inputs, backend="native", detail="tokens")
        calls[f"{name} kernel"] = partial(module.sample, plan, detail="tokens", threads=THREADS)
    return calls


def measure(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each contender, one after another in every round. Each is called once untimed before it is
    timed, because torch's workers go on spinning for a while after a call and would slow whatever comes next."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(times)) for name, times in seconds.items()}


def twins(data: Any, config: str) -> dict[str, float]:
    """Microseconds a row of the numpy twins, on a few rows."""
    few = inputs_of(data, config).rows(slice(0, TWIN_ROWS))
    calls = {name: partial(sample, name, few, backend="reference", detail="tokens") for name in SAMPLERS}
    return {name: round(1e6 * seconds / TWIN_ROWS, 2) for name, seconds in measure(calls, 3).items()}


def ratios_of(median: dict[str, float], config: str) -> dict[str, dict[str, Any]]:
    """The two bars for one configuration."""
    found: dict[str, dict[str, Any]] = {}
    for name in SAMPLERS:
        ratio = median["torch"] / median[name]
        found[f"{config}: {name} / torch, rows a second"] = {
            "ratio": round(ratio, 2),
            "bar": TORCH_BAR,
            "holds": bool(ratio >= TORCH_BAR),
        }
    for name in FLOAT_SAMPLERS:
        ratio = median["exact_sample kernel"] / median[f"{name} kernel"]
        found[f"{config}: exact_sample / {name}, kernel time"] = {
            "ratio": round(ratio, 3),
            "bar": EXACT_BAR,
            "holds": bool(ratio <= EXACT_BAR),
        }
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    options = parser.parse_args(argv)
    with np.load(RECORDING) as recorded:
        data = {name: recorded[name] for name in recorded.files}
    checked = check(data)
    differ = sum(n for name, n in checked.items() if name.endswith("differ"))
    print(f"check: {sum(checked.values()) - differ} rows compared, {differ} differ")
    if differ:
        print(", ".join(f"{name} {n}" for name, n in checked.items() if n and name.endswith("differ")))
        print("no speed is measured")
        return 1
    torch.set_num_threads(THREADS)
    load = round(os.getloadavg()[0], 2)
    if load > 1:
        print(f"load {load} before measuring: other work is running, and two threads wait for it")
    figures: dict[str, float] = {"load before": load}
    many = copies(data)
    rows = len(many["logits"])
    ratios: dict[str, dict[str, Any]] = {}
    for config in CONFIGS:
        median = measure(contenders(many, config), 3 if options.quick else 11)
        figures |= {f"{config}: {name}, us a row": round(1e6 * s / rows, 2) for name, s in median.items()}
        ratios |= ratios_of(median, config)
        figures |= {f"{config}: {name} in numpy, us a row": us for name, us in twins(data, config).items()}
    print(f"native level {best_level().name.lower()}, {THREADS} threads")
    for name, value in figures.items():
        print(f"{name:<44} {value:10.2f}")
    for name, found in ratios.items():
        print(f"{name}: {found['ratio']} (bar {found['bar']}: {'holds' if found['holds'] else 'MISSED'})")
    if options.out:
        record = {"bar": "samplers", "check": checked, "ratios": ratios, "figures": figures, "environment": facts()}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return 0 if all(found["holds"] for found in ratios.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

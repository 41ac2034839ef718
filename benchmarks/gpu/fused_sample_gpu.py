"""Bar `fused_sample_gpu`: the Triton fused_sample on a GPU, first checked against its twin and DeepInfer's recordings.

Times are medians of CUDA graph replays over several sets of rows, so that nothing stays in the cache; peers measured in
the same run are a device-to-device copy of the bytes that a sampler must move and torch's sort-softmax-cumsum-
multinomial path. DeepInfer's own times, recorded on an H200, are shown beside. With TRITON_INTERPRET=1 and no GPU the
same checks run on few rows, and nothing is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton

from deepinfer.sampling import SamplerInputs, sample
from deepinfer.sampling import reference as ref
from deepinfer.sampling.fused_sample import triton_impl
from deepinfer.sampling.fused_sample.triton_impl_tensors import empty_result, sample_tensors
from deepinfer.sampling.params import prepare
from deepinfer.sampling.triton_call import interpreted

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "harness" / "data" / "deepinfer-0.1.0"
CONFIGS = {"engine": (0.99, -1), "narrow": (0.5, 128), "nofilter": (1.0, -1), "k50p.9": (0.9, 50)}
TIMED = ((4096, 1), (4096, 64), (4096, 256), (4096, 1024), (129280, 1), (129280, 64), (129280, 256))
CACHE = 256 * 2**20
"""Bytes of rows that a timed graph walks over: several times the L2 of an H200."""


def real_rows(rows: int, config: str) -> tuple[SamplerInputs, Any]:
    data = np.load(RECORDINGS / "real.npz")
    top_p, top_k = CONFIGS[config]
    return SamplerInputs(data["logits"][:rows], 1.0, top_p, top_k, data["seeds"][:rows], data["positions"][:rows]), data


def check_real(rows: int) -> dict[str, float]:
    """Rows whose draw is not the integers' own, whose kept set is not the recorded one; ULP; agreement."""
    found: dict[str, float] = {}
    for config in CONFIGS:
        inputs, data = real_rows(rows, config)
        got = sample("fused_sample", inputs, backend="triton", numbering="deepinfer")
        want = sample("fused_sample", inputs, backend="reference", numbering="deepinfer")
        record = got.record
        wrong = 0
        for weight, seed, place, token in zip(
            record.weights, record.seeds, record.subsequences, got.tokens, strict=True
        ):
            drawn = ref.draw(weight, seed, place, record.draw)
            wrong += drawn is None or drawn.token != token
        both = np.isfinite(got.logprobs) & np.isfinite(want.logprobs)
        unit = np.spacing(np.maximum(np.abs(want.logprobs[both]), np.float32(1)))
        found[f"{config}: draws that differ from their weights"] = int(wrong)
        if f"{config}.keptbits" in data:
            other = (np.packbits(record.kept, axis=1) != data[f"{config}.keptbits"][:rows]).any(axis=1)
            found[f"{config}: kept sets that differ from DeepInfer's"] = int(other.sum())
        error = np.abs(got.logprobs[both].astype(np.float64) - want.logprobs[both]) / unit
        found[f"{config}: log-probability, ULP of max(|lp|, 1)"] = float(error.max())
        found[f"{config}: token agreement with DeepInfer"] = float(
            (got.tokens == data[f"{config}.tokens"][:rows]).mean()
        )
    return found


def check_verify(rows: int) -> dict[str, float]:
    """The recorded verification rows: accept flags and tokens that differ, and the largest error of accept_prob."""
    data = np.load(RECORDINGS / "verify.npz")
    found: dict[str, float] = {}
    verify = data["is_verify"][:rows]
    for config in ("engine", "narrow", "nofilter"):
        top_p, top_k = CONFIGS[config]
        inputs = SamplerInputs(
            data["logits"], 1.0, top_p, top_k, data["seeds"], data["positions"], data["draft_logprobs"],
            data["draft_ids"], data["is_verify"],
        ).rows(slice(0, rows))  # fmt: skip
        got = sample("fused_sample", inputs, backend="triton", numbering="deepinfer")
        found[f"{config}: accept flags that differ"] = int((got.accept != data[f"{config}.accept"][:rows]).sum())
        found[f"{config}: verified tokens that differ"] = int(
            (got.tokens != data[f"{config}.tokens"][:rows])[verify].sum()
        )
        found[f"{config}: accept_prob, error"] = float(
            np.abs(got.accept_prob - data[f"{config}.accept_probs"][:rows]).max()
        )
    return found


def check_shapes(rows: int) -> dict[str, float]:
    """Arrays that change a bit with tile, rows a program or warps; and of `sample_tensors` against `sample`."""
    found: dict[str, float] = {}
    generator = np.random.default_rng(1)
    for columns, shapes in (
        (1000, [{"tile": 256, "warps": 2}, {"rows": 4, "warps": 8}, {"warps": 1}]),
        (4096, [{"tile": 1024, "warps": 4}, {"warps": 16}, {"warps": 8}]),
        (8193, [{"tile": 2048, "warps": 4}, {"tile": 16384, "warps": 16}]),
    ):
        x = generator.normal(0, 3, (rows, columns)).astype(np.float32)
        x[::2] = np.round(x[::2])
        inputs = SamplerInputs(x, 1.0, 0.9, 200, np.arange(rows), np.arange(rows))
        plan = prepare("fused_sample", inputs)
        first = triton_impl.sample(plan)
        for shape in shapes:
            other = triton_impl.sample(plan, **shape)
            names = ("words", "weights", "kept", "total", "lse", "lse0", "threshold", "sel", "residue", "word_count")
            wrong = sum(getattr(first.record, n).tobytes() != getattr(other.record, n).tobytes() for n in names)
            wrong += (first.tokens != other.tokens).any() + (first.logprobs.tobytes() != other.logprobs.tobytes())
            found[f"{columns} columns, {shape}: arrays that change"] = int(wrong)
        tensors = tensor_rows(torch.from_numpy(x), 0.9, 200)
        again = sample_tensors(**tensors)
        found[f"{columns} columns: tensors, tokens that differ"] = int(
            (again.tokens.cpu().numpy() != first.tokens).sum()
        )
    return found


def tensor_rows(logits: torch.Tensor, top_p: float, top_k: int) -> dict[str, torch.Tensor]:
    """Arguments of `sample_tensors` on the device: temperature 1, seeds and positions 0, 1, ..."""
    device = "cpu" if interpreted() else "cuda"
    rows = logits.shape[0]
    return {
        "logits": logits.to(device),
        "temperature": torch.ones(rows, device=device),
        "top_p": torch.full((rows,), top_p, device=device),
        "top_k": torch.full((rows,), top_k, dtype=torch.int64, device=device),
        "seq_seed": torch.arange(rows, device=device),
        "position": torch.arange(rows, device=device),
    }


def replayed(calls: list[Callable[[], Any]], repeats: int) -> float:
    """Median microseconds of one of `calls`, captured together in a CUDA graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for call in calls:
            call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times = []
    for _ in range(repeats + 2):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end) / len(calls))
    return float(np.median(times[2:]))


def torch_path(logits: torch.Tensor, top_p: float, top_k: int) -> torch.Tensor:
    """The usual sampler: softmax, sort, cumulative sum, cut, multinomial, back to columns."""
    ordered, columns = torch.sort(torch.softmax(logits, dim=-1), dim=-1, descending=True)
    ordered = ordered.masked_fill(torch.cumsum(ordered, dim=-1) - ordered > top_p, 0)
    if top_k > 0:
        ordered[:, top_k:] = 0
    noise = torch.empty_like(ordered).exponential_()
    return columns.gather(1, (ordered / noise).argmax(dim=-1, keepdim=True))


def time_shape(columns: int, rows: int, repeats: int, warps: int | None) -> dict[str, float]:
    """Microseconds by contender for one number of columns and rows, log-probabilities written."""
    sets = max(1, min(64, CACHE // (8 * columns * rows)))
    generator = torch.Generator(device="cuda").manual_seed(3)
    logits = [torch.randn(rows, columns, generator=generator, device="cuda") * 3 for _ in range(sets)]
    spare = torch.empty_like(logits[0])
    found = {"copy": replayed([lambda x=x: spare.copy_(x) for x in logits], repeats)}
    for config, (top_p, top_k) in CONFIGS.items():
        given = [tensor_rows(x, top_p, top_k) for x in logits]
        outs = [empty_result(x) for x in logits]
        pairs = list(zip(given, outs, strict=True))
        found[config] = replayed([lambda g=g, o=o: sample_tensors(**g, out=o, warps=warps) for g, o in pairs], repeats)
    found["torch engine"] = replayed([lambda x=x: torch_path(x, *CONFIGS["engine"]) for x in logits[:4]], 3)
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows checked, fewer repeats")
    parser.add_argument("--warps", type=int, help="warps of every program that is timed, instead of the table's")
    parser.add_argument("--columns", type=int, help="time this number of columns alone")
    parser.add_argument(
        "--skip-check", action="store_true", help="time a kernel that was checked before in this session"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bars" / "fused_sample_gpu.json")
    options = parser.parse_args(argv)
    rows = 4 if interpreted() else 64 if options.quick else 250
    check: dict[str, float] = {}
    if not options.skip_check:
        check = check_real(rows) | check_verify(rows) | check_shapes(min(rows, 8))
    red = [
        name
        for name, value in check.items()
        if ("differ" in name and "kept" not in name and value > 0)
        or ("change" in name and value > 0)
        or ("ULP" in name and value > 2)
        or ("error" in name and value > 1e-6)
        or ("kept sets" in name and value > 0.01 * rows)
    ]
    figures: dict[str, Any] = {}
    ratios: dict[str, Any] = {}
    if not red and not interpreted():
        recorded = json.loads((ROOT / "tests" / "data" / "deepinfer_timings.json").read_text())
        for columns, count in TIMED:
            if options.columns not in (None, columns):
                continue
            name = f"V{columns}.B{count}"
            figures[name] = time_shape(columns, count, 5 if options.quick else 30, options.warps)
            for config in CONFIGS:
                ours = figures[name][config]
                ratios[f"{name} {config}: recorded DeepInfer / ours"] = round(recorded[name][config] / ours, 2)
                ratios[f"{name} {config}: ours / copy"] = round(ours / figures[name]["copy"], 2)
    environment = {
        "device": "interpreter" if interpreted() else torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": sys.version.split()[0],
    }
    bar = {
        "bar": "fused_sample_gpu", "check": check, "ratios": ratios, "figures": figures, "environment": environment,
    }  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(bar, indent=1, sort_keys=True) + "\n")
    for name, value in check.items():
        print(f"{'RED  ' if name in red else ''}{name}: {value:.6g}")
    for name, times in figures.items():
        print(name, {key: round(value, 1) for key, value in times.items()})
    for name, value in ratios.items():
        print(f"{name}: {value}")
    return 1 if red else 0


if __name__ == "__main__":
    raise SystemExit(main())

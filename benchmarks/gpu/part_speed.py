"""Times of the sampling kernels on the GPU: medians of CUDA-graph replays over rotating inputs, tokens only.

DeepInfer 0.1.0's times were recorded on another H200 and are labelled as recorded; the copy time of the same logits is
measured in this run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepinfer.sampling import SamplerInputs, sample
from deepinfer.sampling.fused_sample.triton_impl_tensors import empty_result, sample_tensors

RECORDED = Path(__file__).parents[2] / "tests" / "data" / "deepinfer_timings.json"
SHAPES = {
    "V4096.B1024.engine": (4096, 1024, 0.99, -1, 20),
    "V4096.B1024.k50p.9": (4096, 1024, 0.9, 50, 25),
    "V4096.B1024.nofilter": (4096, 1024, 1.0, -1, None),
    "V129280.B256.engine": (129280, 256, 0.99, -1, 100),
    "V129280.B1.k50p.9": (129280, 1, 0.9, 50, 35),
    "V129280.B1024.nofilter": (129280, 1024, 1.0, -1, 300),
}
"""Name -> (columns, rows, top_p, top_k, bar in microseconds)."""
SETS = 4


def graph_time(calls: list[Callable[[], object]], repeats: int = 40) -> float:
    """Median microseconds of one call, in graphs that hold one call on each input set."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times = []
    for _ in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) * 1000 / len(calls))
    return float(np.median(times))


def run(out: Path) -> dict[str, Any]:
    recorded = json.loads(RECORDED.read_text())
    figures: dict[str, Any] = {}
    wrong = 0
    for name, (columns, count, top_p, top_k, bar) in SHAPES.items():
        maker = torch.Generator(device="cuda").manual_seed(columns + count)
        sets = [torch.randn(count, columns, generator=maker, device="cuda") * 3 for _ in range(SETS)]
        each = {
            "temperature": torch.full((count,), 1.0, device="cuda"),
            "top_p": torch.full((count,), top_p, device="cuda"),
            "top_k": torch.full((count,), top_k, dtype=torch.int64, device="cuda"),
            "seq_seed": torch.arange(count, device="cuda"),
            "position": torch.full((count,), 5, dtype=torch.int64, device="cuda"),
        }
        outs = [empty_result(x, logprobs=False) for x in sets]
        calls = [partial(sample_tensors, x, **each, out=o) for x, o in zip(sets, outs, strict=True)]
        micros = graph_time(calls)
        checked = min(count, 32)
        inputs = SamplerInputs(sets[0][:checked].cpu().numpy(), 1.0, top_p, top_k, np.arange(checked), 5)
        twin = sample("fused_sample", inputs, backend="native", detail="tokens")
        agreement = float(np.mean(twin.tokens == outs[0].tokens[:checked].cpu().numpy()))
        wrong += agreement < 0.7
        targets = [torch.empty_like(x) for x in sets]
        copy = graph_time([partial(y.copy_, x) for x, y in zip(sets, targets, strict=True)])
        config = name.split(".", 2)[2]
        theirs = recorded[".".join(name.split(".", 2)[:2])].get(config)
        figures[name] = {
            "fused_sample_us": round(micros, 2),
            "bar_us": bar,
            "copy_us": round(copy, 2),
            "deepinfer_recorded_us": theirs,
            "times_faster_than_deepinfer": round(theirs / micros, 2) if theirs else None,
            "agreement_with_native_on_32_rows": agreement,
        }
        del sets, outs, targets
    return {"check": "green" if not wrong else "red", "figures": figures, "table": figures}

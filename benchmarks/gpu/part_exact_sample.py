"""`exact_sample` in Triton on the GPU against the numpy twin and the C++ on the CPU: every bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rows

from deepinfer.sampling import SampleResult, SamplerInputs, sample


def differing(a: SampleResult, b: SampleResult) -> dict[str, int]:
    return {
        "tokens": int((a.tokens != b.tokens).sum()),
        "kept": int((a.record.kept != b.record.kept).sum()),
        "weights": int((a.record.weights != b.record.weights).sum()),
        "logprobs": int((a.logprobs.view("u4") != b.logprobs.view("u4")).sum()),
    }


def run(out: Path) -> dict[str, Any]:
    cases: dict[str, tuple[SamplerInputs, dict[str, Any]]] = {
        f"real.{config}": (rows.real(config)[0], {}) for config in rows.CONFIGS
    }
    for columns, count in ((1, 500), (3, 2000), (37, 20000), (1000, 20000), (4096, 4000), (4097, 1000), (129280, 64)):
        cases[f"edges.{columns}"] = rows.edges(count, columns, columns), {}
    cases["edges.1000.top_k_first.min_p"] = rows.edges(5000, 1000, 77), {"filter_order": "top_k_first", "min_p": 0.05}
    figures: dict[str, Any] = {}
    total = 0
    for name, (inputs, options) in cases.items():
        gpu = sample("exact_sample", inputs, backend="triton", **options)
        cpu = sample("exact_sample", inputs, backend="native", **options)
        figures[name] = {"rows": len(gpu.tokens), **differing(gpu, cpu)}
        total += sum(differing(gpu, cpu).values())
    inputs = rows.edges(300, 1000, 5)
    gpu = sample("exact_sample", inputs, backend="triton")
    figures["edges.1000.reference"] = differing(gpu, sample("exact_sample", inputs, backend="reference"))
    total += sum(figures["edges.1000.reference"].values())
    for tile in (256, 1024):
        tiled = _tiled(inputs, tile)
        figures[f"tile.{tile}"] = differing(gpu, tiled)
        total += sum(figures[f"tile.{tile}"].values())
    control = sample("exact_sample", SamplerInputs(**{**vars(inputs), "seq_seed": 1}), backend="triton")
    moved = int((control.tokens != gpu.tokens).sum())
    figures["control"] = {"tokens": moved}
    count = sum(one.get("rows", 0) for one in figures.values())
    return {
        "check": "green" if total == 0 and moved else "red",
        "rows": count,
        "differences": total,
        "figures": figures,
    }


def _tiled(inputs: SamplerInputs, tile: int) -> SampleResult:
    from deepinfer.sampling.exact_sample.triton_impl import sample as kernel
    from deepinfer.sampling.params import prepare

    return kernel(prepare("exact_sample", inputs), tile=tile)

"""`fused_sample` in Triton on the GPU: the integer part against the twin, and its tokens against DeepInfer's.

Writes fused_sample_real.npz, a recording that `repro run --candidate recorded:FILE` reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import rows

from deepinfer.sampling import SampleResult, sample
from deepinfer.sampling import reference as twin

MOST_CROSSINGS = 2
"""Kept sets of 250 that may differ: 1 %. Whether each is a threshold crossing is for `repro run` to prove."""


def wrong_draws(got: SampleResult) -> int:
    """Rows whose token, total or residue is not what the twin draws from the kernel's own weights."""
    record = got.record
    wrong = 0
    for row in np.flatnonzero((record.status == 0) & (record.word_count > 0)):
        drawn = twin.draw(record.weights[row], record.seeds[row], record.subsequences[row], record.draw)
        wrong += drawn is None or (drawn.token, drawn.total, drawn.residue) != (
            int(got.tokens[row]),
            int(record.total[row]),
            int(record.residue[row]),
        )
    return wrong


def run(out: Path) -> dict[str, Any]:
    saved: dict[str, np.ndarray] = {}
    figures: dict[str, Any] = {}
    bad = 0
    for config in rows.CONFIGS:
        inputs, recorded = rows.real(config)
        got = sample("fused_sample", inputs, backend="triton", numbering="deepinfer")
        again = sample("fused_sample", inputs, backend="triton", numbering="deepinfer")
        alone = sample("fused_sample", inputs.rows(slice(7, 8)), backend="triton", numbering="deepinfer")
        model = sample("two_level", inputs, backend="reference", numbering="deepinfer")
        same_set = (got.record.kept == model.record.kept).all(axis=1)  # another set has another mass
        finite = np.isfinite(model.logprobs) & same_set[:, None]
        distance = np.abs(got.logprobs[finite] - model.logprobs[finite]) / np.spacing(
            np.maximum(np.abs(model.logprobs[finite]), np.float32(1))
        )
        figures[config] = {
            "wrong_draws": wrong_draws(got),
            "kept_sets_differ": int((got.record.kept != model.record.kept).any(axis=1).sum()),
            "logprob_ulp_max": float(distance.max()),
            "run_to_run_bits_differ": int((got.logprobs.view("u4") != again.logprobs.view("u4")).sum()),
            "row_alone_bits_differ": int((got.logprobs[7].view("u4") != alone.logprobs[0].view("u4")).sum()),
            "agreement_with_twin": float(np.mean(got.tokens == model.tokens)),
            "agreement_with_deepinfer": float(np.mean(got.tokens == recorded["tokens"])),
        }
        one = figures[config]
        bad += one["wrong_draws"] + (one["kept_sets_differ"] > MOST_CROSSINGS) + (one["logprob_ulp_max"] > 2)
        bad += one["run_to_run_bits_differ"] + one["row_alone_bits_differ"]
        saved[f"real.{config}.tokens"] = got.tokens
        saved[f"real.{config}.kept"] = got.record.kept
        saved[f"real.{config}.lse"] = got.record.lse
        saved[f"real.{config}.logprobs8"] = got.logprobs[:8]
    np.savez_compressed(out / "fused_sample_real.npz", **saved)
    edge = sample("fused_sample", rows.edges(2000, 1000, 3), backend="triton", on_error="mask")
    figures["edges"] = {"rows": 2000, "wrong_draws": wrong_draws(edge)}
    return {"check": "green" if bad + figures["edges"]["wrong_draws"] == 0 else "red", "figures": figures}

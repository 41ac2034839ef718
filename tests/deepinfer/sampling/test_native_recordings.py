"""The native samplers against DeepInfer 0.1.0's recorded outputs. Kept sets that differ are threshold crossings:
test_native_twin.py shows that the twin's cut gives the same set for the same weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deepinfer.sampling import SamplerInputs, sample

CONFIGS = {
    "engine": (1.0, 0.99, -1),
    "narrow": (1.0, 0.5, 128),
    "nofilter": (1.0, 1.0, -1),
    "k50p.9": (1.0, 0.9, 50),
    "k1": (1.0, 1.0, 1),
    "greedyish": (1e-5, 1.0, -1),
}
# Agreement of tokens with the recording, a little below what was measured: it depends on the side of the step alone.
REAL_FLOOR = {"engine": 0.96, "narrow": 0.95, "nofilter": 0.99, "k50p.9": 0.90, "k1": 1.0, "greedyish": 1.0}


def zeros() -> np.ndarray:
    logits = np.zeros((250, 4096), np.float32)
    logits[:, ::2] = -0.0
    return logits


LOGITS: dict[str, Callable[[Path], np.ndarray]] = {
    "real": lambda folder: np.load(folder / "real.npz")["logits"],
    "normal": lambda folder: np.load(folder / "normal.npz")["logits"],
    "normal3": lambda folder: np.load(folder / "normal.npz")["logits"] * np.float32(3),
    "normal3_1024": lambda folder: np.load(folder / "normal3_1024.npz")["logits"],
    "ternary": lambda folder: np.load(folder / "ternary.npz")["logits_i8"].astype(np.float32),
    "ternary_1024": lambda folder: np.load(folder / "ternary_1024.npz")["logits"],
    "zeros": lambda folder: zeros(),
    "normal3_129280": lambda folder: np.load(folder / "normal3_129280.npz")["logits"],
    "bf16_full": lambda folder: (np.load(folder / "bf16_full.npz")["logits_bf16_bits"].astype(np.uint32) << 16).view(
        np.float32
    ),
}


@pytest.mark.parametrize("kind", LOGITS)
@pytest.mark.parametrize("name", ["two_level", "fused_sample"])
def test_recorded_rows(recordings: Path, name: str, kind: str) -> None:
    data, logits = np.load(recordings / f"{kind}.npz"), LOGITS[kind](recordings)
    compared = 0
    for config, (temperature, top_p, top_k) in CONFIGS.items():
        if f"{config}.tokens" not in data:
            continue
        inputs = SamplerInputs(logits, temperature, top_p, top_k, data["seeds"], data["positions"])
        got = sample(name, inputs, backend="native", numbering="deepinfer")
        assert got.logprobs is not None
        assert got.record.kept is not None
        rows, columns = logits.shape
        crossings = 0.15 if columns >= 49152 else 0.01
        assert np.count_nonzero(got.record.kept.sum(axis=1) != data[f"{config}.kept"]) <= crossings * rows
        if f"{config}.keptbits" in data:
            other = (np.packbits(got.record.kept, axis=1) != data[f"{config}.keptbits"]).any(axis=1)
            assert np.count_nonzero(other) <= crossings * rows
            assert kind != "real" or not other.any()
        assert np.array_equal(got.record.lse[:, 1].view(np.uint32), data[f"{config}.lse"][:, 1].view(np.uint32))
        if f"{config}.logprobs8" in data:
            recorded = data[f"{config}.logprobs8"]
            both = np.isfinite(recorded) & np.isfinite(got.logprobs[:8])
            ulp = np.spacing(np.maximum(np.abs(recorded[both]), np.float32(1)))
            assert (np.abs(got.logprobs[:8][both] - recorded[both]) / ulp).max() <= 2
        agreement = np.mean(got.tokens == data[f"{config}.tokens"])
        assert agreement >= (REAL_FLOOR[config] if kind == "real" else 0.8)
        compared += 1
    assert compared >= 4


def test_recorded_verification(recordings: Path) -> None:
    data = np.load(recordings / "verify.npz")
    for config in ("engine", "narrow", "nofilter"):
        temperature, top_p, top_k = CONFIGS[config]
        inputs = SamplerInputs(
            data["logits"],
            temperature,
            top_p,
            top_k,
            data["seeds"],
            data["positions"],
            draft_logprobs=data["draft_logprobs"],
            draft_ids=data["draft_ids"],
            is_verify=data["is_verify"],
        )
        got = sample("fused_sample", inputs, backend="native", numbering="deepinfer")
        assert got.accept is not None
        assert got.accept_prob is not None
        assert got.draft_logprob is not None
        assert np.array_equal(got.accept, data[f"{config}.accept"])
        verified = data["is_verify"]
        assert np.array_equal(got.tokens[verified], data[f"{config}.tokens"][verified])
        assert np.count_nonzero(verified & ~got.accept) >= 80
        assert np.abs(got.accept_prob - data[f"{config}.accept_probs"]).max() <= 1e-6
        selected = data[f"{config}.draft_selected"]
        assert np.array_equal(got.draft_logprob.view(np.uint32), selected.view(np.uint32))


def test_recorded_residual_of_nearly_equal_columns(recordings: Path) -> None:
    """4093 equal columns: the penalty and the last bit of lse0 decide every token; all 24 are the recorded ones."""
    data = np.load(recordings / "penalty_residual.npz")
    logits = np.zeros((24, 4096), np.float32)
    logits[:, 0], logits[:, -2:] = -np.inf, 0.005
    inputs = SamplerInputs(
        logits,
        seq_seed=np.arange(24),
        draft_logprobs=data["draft_logprobs"],
        draft_ids=data["draft_ids"],
        is_verify=True,
    )
    got = sample("fused_sample", inputs, backend="native", numbering="deepinfer")
    assert got.accept is not None
    assert got.accept.tolist() == data["accept"].tolist()
    assert got.tokens.tolist() == data["tokens"].tolist()

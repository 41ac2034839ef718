"""The integer sampler alone: every recorded token of DeepInfer 0.1.0, lane order included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepinfer.sampling import draw_tokens
from deepinfer.sampling.draw import DRAW_BACKENDS


def recorded_probs(data: np.lib.npyio.NpzFile, columns: int) -> np.ndarray:
    if columns < 129280:
        return data[f"V{columns}.probs"]
    probs = np.zeros((36, columns), np.float32)
    where, values = data["V129280.sparse_rows0_31.columns"], data["V129280.sparse_rows0_31.values"]
    np.put_along_axis(probs[:32], where, values, axis=1)
    probs[32:] = data["V129280.dense_rows32_35"]
    return probs


@pytest.mark.parametrize("backend", DRAW_BACKENDS)
@pytest.mark.parametrize("columns", [1024, 4096, 129280])
@pytest.mark.parametrize("purpose", [0, 1])
def test_every_recorded_token(recordings: Path, backend: str, columns: int, purpose: int) -> None:
    data = np.load(recordings / "random_sampling.npz")
    probs = recorded_probs(data, columns)
    seeds, positions = data[f"V{columns}.seeds"], data[f"V{columns}.positions"]
    got = draw_tokens(probs, seeds, positions, purpose, backend=backend, numbering="deepinfer")
    assert np.array_equal(got, data[f"V{columns}.next{purpose}.tokens"])
    other = draw_tokens(probs, seeds, positions + 1, purpose, backend=backend, numbering="deepinfer")
    assert not np.array_equal(other, got)


def test_column_order_would_be_wrong_above_8192(recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control for lane order: a CDF over the columns in their own order disagrees with the recording."""
    data = np.load(recordings / "random_sampling.npz")
    probs = recorded_probs(data, 129280)
    monkeypatch.setattr("deepinfer.sampling.reference.cdf_order", np.arange)
    got = draw_tokens(
        probs, data["V129280.seeds"], data["V129280.positions"], backend="reference", numbering="deepinfer"
    )
    assert np.mean(got != data["V129280.next0.tokens"]) > 0.5

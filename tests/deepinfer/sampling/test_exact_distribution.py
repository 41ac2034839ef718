"""What `exact_sample` draws from: its distance from the real softmax, and counts of draws against it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deepinfer.sampling import SamplerInputs, sample

F64 = NDArray[np.float64]
DRAWS = 200_000
ALPHA = 1e-4


def softmax(logits: NDArray[np.float32], temperature: NDArray[np.float32]) -> NDArray[np.longdouble]:
    """The softmax of each row with the float32 temperature it was given, in extended precision."""
    x = logits.astype(np.longdouble)
    p = np.exp((x - x.max(axis=1, keepdims=True)) / temperature.astype(np.longdouble)[:, None])
    return p / p.sum(axis=1, keepdims=True)


def distance(logits: NDArray[np.float32], temperature: NDArray[np.float32]) -> F64:
    """The total variation distance between each row's weights and its softmax."""
    record = sample("exact_sample", SamplerInputs(logits, temperature), backend="native").record
    assert record.weights is not None
    share = record.weights.astype(np.longdouble) / record.total.astype(np.longdouble)[:, None]
    return (np.abs(share - softmax(logits, temperature)).sum(axis=1) / 2).astype(np.float64)


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.5])
@pytest.mark.parametrize("name", ["real", "normal3_129280"])
def test_recorded_rows(recordings: Path, name: str, temperature: float) -> None:
    logits = np.load(recordings / f"{name}.npz")["logits"][:64]
    found = distance(logits, np.full(len(logits), temperature, np.float32))
    assert found.max() < 1e-7
    assert found.max() > 1e-9  # it does measure something


def test_any_row(exact_rows: ModuleType, generator: np.random.Generator) -> None:
    """Hard rows at every temperature, but where the definition itself gives up: differences and log2(e) / T beyond the
    largest float."""
    worst = 0.0
    for columns in (1, 2, 17, 300, 5000):
        inputs = exact_rows.batch(int(generator.integers(2**60)), columns, 40).inputs
        temperature = np.asarray(inputs.temperature, np.float32)
        span = inputs.logits.astype(np.float64)
        span = span.max(axis=1) - np.where(np.isneginf(span), np.inf, span).min(axis=1)
        fit = (temperature > 4.3e-39) & (span <= np.finfo(np.float32).max)
        worst = max(worst, distance(inputs.logits[fit], temperature[fit]).max())
    assert 0 < worst < 1e-6


def counts(logits: NDArray[np.float32], temperature: float) -> NDArray[np.int64]:
    inputs = SamplerInputs(
        np.broadcast_to(logits, (DRAWS, len(logits))).copy(), temperature, seq_seed=99, position=np.arange(DRAWS)
    )
    tokens = sample("exact_sample", inputs, backend="native").tokens
    return np.bincount(tokens, minlength=len(logits))


def p_values(observed: NDArray[np.int64], probability: F64) -> dict[str, float]:
    """Chi-square and G-test; cells are pooled in order of probability until each expects at least 20 draws."""
    order = np.argsort(probability)
    cell = np.floor(np.cumsum(probability[order]) * DRAWS / 20).astype(int)
    cell = np.minimum(cell, cell[-1] - 1)  # the last, perhaps short, one joins its neighbour
    _, cell = np.unique(cell, return_inverse=True)
    seen, expected = np.bincount(cell, observed[order]), np.bincount(cell, probability[order] * DRAWS)
    return {
        name: float(stats.power_divergence(seen, expected * seen.sum() / expected.sum(), lambda_=name).pvalue)
        for name in ("pearson", "log-likelihood")
    }


def test_draws_follow_the_softmax(generator: np.random.Generator) -> None:
    logits = (generator.standard_normal(96) * 2).astype(np.float32)
    observed = counts(logits, 0.8)
    probability = softmax(logits[None], np.asarray([0.8], np.float32))[0].astype(np.float64)
    assert min(p_values(observed, probability).values()) > ALPHA
    # The control: the same counts do not pass for a softmax 3 % warmer.
    warmer = softmax(logits[None], np.asarray([0.824], np.float32))[0].astype(np.float64)
    assert max(p_values(observed, warmer).values()) < ALPHA

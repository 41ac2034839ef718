"""P(f), which makes a weight of a fraction: all 2^24 values, against the true ones, the frozen ones and C++."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deepinfer.native import supported_levels
from deepinfer.sampling import SamplerInputs
from deepinfer.sampling.exact_sample import fixed_point, native_impl, spec
from deepinfer.sampling.params import prepare

FROZEN = (Path(__file__).parents[2] / "data" / "exact_power.txt").read_text().splitlines()[1:]
LOG2_E = np.float32(np.log2(np.e))
PART = 2**19


@pytest.fixture(scope="module")
def table() -> NDArray[np.uint32]:
    """P(f) of every fraction."""
    parts = (fixed_point.power(np.arange(at, at + PART, dtype=np.uint64)) for at in range(0, 2**24, PART))
    return np.concatenate([part.astype(np.uint32) for part in parts])


def test_every_value_is_close(table: NDArray[np.uint32]) -> None:
    truth = np.exp2(31 - np.arange(2**24) / 2**24)
    assert np.abs(table / truth - 1).max() <= 2.0**-28


def test_every_value_is_lower_than_the_last(table: NDArray[np.uint32]) -> None:
    assert table[0] == 2**31
    assert (table[1:] < table[:-1]).all()
    assert table[-1] >= 2**30


def test_every_value_is_frozen(table: NDArray[np.uint32]) -> None:
    assert hashlib.sha256(table.astype("<u4").tobytes()).hexdigest() == FROZEN[0]
    pairs = np.asarray([line.split() for line in FROZEN[1:]], np.uint64)
    assert (table[pairs[:, 0]] == pairs[:, 1]).all()


def test_another_coefficient_is_another_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: one unit in the least of the coefficients shows in the frozen values."""
    pairs = np.asarray([line.split() for line in FROZEN[1:]], np.uint64)
    monkeypatch.setattr(fixed_point, "POWER", (*spec.POWER[:-1], spec.POWER[-1] + 64))
    assert (fixed_point.power(pairs[:, 0]) != pairs[:, 1]).any()


@pytest.mark.parametrize("level", supported_levels())
def test_cpp_has_every_value(table: NDArray[np.uint32], level: int) -> None:
    """Temperature fp32(log2 e) makes c exactly 1, so a logit -f / 2^24 beside 0 has the weight P(f) * 2^13."""
    assert spec.scale(np.asarray([LOG2_E]))[0] == 1
    for at in range(0, 2**24, PART):
        logits = np.arange(-at, -at - PART, -1, np.float32)[None, :] * np.float32(2.0**-24)
        expected = table[at : at + PART].astype(np.uint64) << np.uint64(13)
        logits[0, 0], expected[0] = 0, 2**44
        plan = prepare("exact_sample", SamplerInputs(logits, temperature=LOG2_E))
        weights = native_impl.sample(plan, level=level).record.weights
        assert weights is not None
        assert (weights[0] == expected).all()

"""P(f), which makes a weight of a fraction: all 2^24 values, against the exact ones, the frozen ones and C++."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
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


def fractions() -> Iterator[NDArray[np.uint64]]:
    """Every fraction, in parts."""
    for start in range(0, 2**24, PART):
        yield np.arange(start, start + PART, dtype=np.uint64)


def test_every_value_is_close_and_falls() -> None:
    before = 2**31 + 1
    for f in fractions():
        got = fixed_point.power(f)
        truth = np.exp2(np.longdouble(31) - f.astype(np.longdouble) / np.longdouble(2**24))
        assert np.abs((got.astype(np.longdouble) - truth) / truth).max() <= np.longdouble(2) ** -28
        assert got[0] < before
        assert (got[1:] < got[:-1]).all()
        before = int(got[-1])
    assert fixed_point.power(np.zeros(1, np.uint64))[0] == 2**31
    assert before >= 2**30


def test_every_value_is_frozen() -> None:
    digest = hashlib.sha256()
    for f in fractions():
        digest.update(fixed_point.power(f).astype("<u4").tobytes())
    assert digest.hexdigest() == FROZEN[0]
    pairs = np.asarray([line.split() for line in FROZEN[1:]], np.uint64)
    assert (fixed_point.power(pairs[:, 0]) == pairs[:, 1]).all()


def test_another_coefficient_is_another_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: one unit in the least of the coefficients shows in the frozen values."""
    pairs = np.asarray([line.split() for line in FROZEN[1:]], np.uint64)
    monkeypatch.setattr(fixed_point, "POWER", (*spec.POWER[:-1], spec.POWER[-1] + 64))
    assert (fixed_point.power(pairs[:, 0]) != pairs[:, 1]).any()


@pytest.mark.parametrize("level", supported_levels())
def test_cpp_has_every_value(level: int) -> None:
    """Temperature fp32(log2 e) makes c exactly 1, so a logit -f / 2^24 beside 0 has the weight P(f) * 2^13."""
    assert spec.scale(np.asarray([LOG2_E]))[0] == 1
    for f in fractions():
        logits = -(f.astype(np.float32) * np.float32(2.0**-24))[None, :]
        logits[0, 0] = 0
        plan = prepare("exact_sample", SamplerInputs(logits, temperature=LOG2_E))
        weights = native_impl.sample(plan, level=level).record.weights
        assert weights is not None
        f[0] = 0
        assert (weights[0] == fixed_point.power(f) << np.uint64(13)).all()

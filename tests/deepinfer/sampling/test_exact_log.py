"""ln(w / total) in integers: its distance from the true value, its frozen bits, its exact ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepinfer.sampling.exact_sample import fixed_point
from deepinfer.sampling.exact_sample.fixed_point import likely_logprob, log1p, logprobs, split

FROZEN = [line.split() for line in (Path(__file__).parents[2] / "data" / "exact_log.txt").read_text().splitlines()[1:]]
ONE = 2**44


def ulps(got: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """|got - truth| in units in the last place of the truth."""
    return np.abs(got.astype(np.longdouble) - truth) / np.spacing(np.abs(truth).astype(np.float32)).astype(
        np.longdouble
    )


def test_within_one_ulp_up_to_one_half(generator: np.random.Generator) -> None:
    for _ in range(200):
        weight = np.exp2(generator.uniform(0, 44, 2000)).astype(np.uint64)
        weight[0] = ONE
        total = min(2 * ONE + int(2 ** generator.uniform(0, 63)), 2**63)
        truth = np.log(weight.astype(np.longdouble)) - np.log(np.longdouble(total))
        assert ulps(logprobs(weight, total), truth).max() <= 1


def test_within_two_ulp_above_one_half(generator: np.random.Generator) -> None:
    others = np.unique(np.exp2(generator.uniform(0, 44, 5000)).astype(np.int64))
    others = np.concatenate([others, [ONE - 1, ONE - 2]])
    got = np.asarray([likely_logprob(int(n)) for n in others])
    truth = -np.log1p(others.astype(np.longdouble) / np.longdouble(ONE))
    assert ulps(got, truth).max() <= 2


def test_whole_mass_is_exactly_zero() -> None:
    got = logprobs(np.asarray([0, ONE], np.uint64), ONE)
    assert got.view(np.uint32).tolist() == [0xFF800000, 0]


def test_log1p_over_all_leading_bits() -> None:
    t = np.arange(2**32, step=2**11, dtype=np.uint64)
    truth = np.log1p(t.astype(np.longdouble) / np.longdouble(2**32)) * np.longdouble(2**32)
    assert np.abs(log1p(t).astype(np.longdouble) - truth).max() < 8


def test_split() -> None:
    values = [1, 2, 3, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1]
    exponent, mantissa = split(np.asarray(values, np.uint64))
    assert exponent.tolist() == [v.bit_length() - 1 for v in values]
    assert mantissa.tolist() == [(v << 64 >> (v.bit_length() - 1) >> 32) & 0xFFFFFFFF for v in values]


def test_frozen_values() -> None:
    for weight, total, bits in FROZEN:
        got = logprobs(np.asarray([weight], np.uint64), int(total))
        assert f"{got.view(np.uint32)[0]:08x}" == bits, (weight, total)


def test_another_constant_is_another_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the frozen values see ln 2 off by 2^-24."""
    monkeypatch.setattr(fixed_point, "LN2", fixed_point.LN2 + 256)
    with pytest.raises(AssertionError):
        test_frozen_values()

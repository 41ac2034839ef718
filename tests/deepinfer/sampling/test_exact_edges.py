"""The clauses of docs/spec/sampling.md, D, one by one, on rows whose answer is known; every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from deepinfer.rng.reference import words_many
from deepinfer.sampling import SampleResult, SamplerInputs, sample
from deepinfer.sampling.exact_sample import triton_impl
from deepinfer.sampling.params import prepare

ONE = 2**44
LN2 = np.log(2)
INF = np.inf


@pytest.fixture(params=["reference", "native", "triton"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def run(backend: str, logits: Any, *parameters: Any, **options: Any) -> SampleResult:
    return sample(
        "exact_sample", SamplerInputs(np.asarray(logits, np.float32), *parameters), backend=backend, **options
    )


def kept(result: SampleResult) -> list[list[int]]:
    assert result.record.kept is not None
    return [np.flatnonzero(row).tolist() for row in result.record.kept]


def bits(x: Any) -> list[int]:
    found: list[int] = np.asarray(x, np.float32).view(np.uint32).tolist()
    return found


def test_one_column(backend: str) -> None:
    got = run(backend, [[-3.5], [3e38], [-0.0]], 0.9, 0.5, 1)
    assert got.tokens.tolist() == [0, 0, 0]
    assert got.record.total.tolist() == [ONE] * 3
    assert bits(got.logprobs) == [[0], [0], [0]]
    assert got.record.sel.tolist() == [1, 1, 1]
    assert bits(got.record.threshold) == bits([-3.5, 3e38, 0.0])  # both zeros are +0


def test_weights(backend: str) -> None:
    """Powers of two a whole number of halvings apart; 43 halvings leave one unit, 44 nothing."""
    temperature = np.float32(np.log2(np.e))  # c is exactly 1
    got = run(backend, [[0, -1, -2, -43, -44, -44.5, -64, -1e30, -INF]], temperature)
    assert got.record.weights is not None
    assert got.record.weights[0].tolist() == [ONE, ONE // 2, ONE // 4, 2, 0, 0, 0, 0, 0]
    assert kept(got) == [[0, 1, 2, 3]]
    assert got.logprobs is not None
    assert np.isneginf(got.logprobs[0, 4:]).all()


def test_subnormals_are_kept(backend: str) -> None:
    tiny = 2.0**-149
    got = run(backend, [[0, -tiny, -2 * tiny, -(2**20) * tiny]], np.float32(2.0**-126))
    assert got.record.weights is not None
    truth = np.exp(-np.asarray([0, 1, 2, 2**20]) * 2.0**-23)
    assert np.abs(got.record.weights[0] / ONE - truth).max() < 1e-6
    assert len(set(got.record.weights[0].tolist())) > 2


def test_words_residue_and_token(backend: str) -> None:
    rows = 50
    logits = np.random.default_rng(3).standard_normal((rows, 9)).astype(np.float32)
    seeds = np.arange(rows, dtype=np.uint64) + np.uint64(2**64 - 20)
    positions = np.arange(rows) + (2**62 - rows)
    got = run(backend, logits, 1, 1, -1, seeds, positions)
    record = got.record
    words = words_many(seeds, positions.astype(np.uint64) * np.uint64(3), np.zeros(rows, np.uint64), 2)
    assert (record.words[:, :2] == words).all()
    assert (record.words[:, 2:] == 0).all()
    assert (record.word_count == 2).all()
    assert (record.limit == 0).all()
    assert record.order == "integer"
    assert record.weights is not None
    for row in range(rows):
        low, high = (int(word) for word in words[row])
        assert int(record.residue[row]) == (low | high << 32) * int(record.total[row]) >> 64
        below = np.cumsum(record.weights[row])
        assert got.tokens[row] == np.searchsorted(below, record.residue[row], side="right")


def test_top_k_takes_exactly_k(backend: str) -> None:
    """Ties at the threshold in column order; the two zeros are ties."""
    logits = [[1, 2, 1, 1, 2, 1], [0.0, -0.0, 0.0, -0.0, 0.0, -0.0], [5, 4, 3, 2, 1, 0]]
    got = run(backend, logits, 1, 1, [4, 3, 6])
    assert kept(got) == [[0, 1, 2, 4], [0, 1, 2], [0, 1, 2, 3, 4, 5]]
    assert got.record.sel.tolist() == [2, 3, 6]  # the last: top_k = V is off
    assert bits(got.record.threshold) == bits([1, 0, -INF])


def test_top_p_is_the_smallest_prefix(backend: str) -> None:
    """Masses 4, 2, 1, 1 of 8: the sum must exceed top_p, not merely reach it."""
    row = np.asarray([1, 0, -1, -1]) * LN2
    got = run(backend, [row] * 6, 1, [1e-45, 0.4999, 0.5, 0.7499, 0.75, 0.99])
    assert kept(got)[:2] == [[0], [0]]
    assert kept(got)[2:4] == [[0, 1], [0, 1]]
    assert kept(got)[4:] == [[0, 1, 2], [0, 1, 2, 3]]


def test_filter_orders(backend: str) -> None:
    """Of 5 equal columns the first 3: 60 % of all is the first 4 jointly, the first 2 of the survivors."""
    logits = np.zeros((1, 5))
    assert kept(run(backend, logits, 1, 0.65, 3)) == [[0, 1, 2]]
    assert kept(run(backend, logits, 1, 0.65, 3, filter_order="top_k_first")) == [[0, 1]]
    assert kept(run(backend, logits, 1, 0.3, 3)) == kept(run(backend, logits, 1, 0.5, 3, filter_order="top_k_first"))


def test_min_p_keeps_ties(backend: str) -> None:
    row = [0, -LN2, -LN2, -2 * LN2, -3 * LN2]
    assert kept(run(backend, [row], 1, 1, -1, min_p=0.49)) == [[0, 1, 2]]
    assert kept(run(backend, [row], 1, 1, 2, min_p=0.2)) == [[0, 1]]
    got = run(backend, [[3, 3, 1]], 1, 1, -1, min_p=1.0)
    assert kept(got) == [[0, 1]]
    assert got.record.sel.tolist() == [2]


def test_greedy(backend: str) -> None:
    got = run(backend, [[1, 7, 7, -INF], [-0.0, 0.0, -1, 0], [-INF, -INF, -5, -INF]], 0, 0.5, 2)
    assert got.tokens.tolist() == [1, 0, 2]
    assert kept(got) == [[1], [0], [2]]
    assert got.record.total.tolist() == [ONE] * 3
    assert got.record.word_count.tolist() == [0] * 3
    assert (got.record.words == 0).all()
    assert got.logprobs is not None
    assert bits(got.logprobs[0]) == [0xFF800000, 0, 0xFF800000, 0xFF800000]


def test_temperatures_without_end(backend: str) -> None:
    """Far below log2(e) / FLT_MAX any difference of normal numbers is decisive; far above, none."""
    largest = np.finfo(np.float32).max
    got = run(backend, [[1, 1 + 2.0**-23, 1], [1, 5, -1]], np.asarray([1e-45, largest], np.float32))
    assert kept(got) == [[1], [0, 1, 2]]
    assert got.record.weights is not None
    assert got.record.weights[1].tolist() == [ONE] * 3
    assert kept(run(backend, [[largest, -largest]], largest)) == [[0]]  # a difference beyond the largest float


def test_a_weight_of_zero_is_never_drawn(backend: str) -> None:
    logits = np.full((400, 6), -INF)
    logits[:, 2], logits[:, 4] = 0, -29
    got = run(backend, logits, 1, 1, -1, np.arange(400))
    assert set(got.tokens.tolist()) <= {2, 4}


def test_the_total_of_the_most_columns() -> None:
    """2^19 columns of 2^44 add up to 2^63, where a signed sum would be negative."""
    got = run("native", np.zeros((4, 2**19)), 1, [1, 0.5, 1, 1], [-1, -1, 2**18, -1], np.arange(4))
    assert got.record.total.tolist() == [2**63, 2**62 + ONE, 2**62, 2**63]
    expected = run("reference", np.zeros((2, 2**19)), 1, [1, 0.5], -1, np.arange(2))
    assert (expected.tokens == got.tokens[:2]).all()
    assert (expected.record.total == got.record.total[:2]).all()
    plan = prepare("exact_sample", SamplerInputs(np.zeros((1, 2**19), np.float32)))
    triton = triton_impl.sample(plan, tile=2**18)
    assert triton.record.total[0] == got.record.total[0]
    assert triton.tokens[0] == got.tokens[0]
    assert triton.logprobs is not None
    assert got.logprobs is not None
    assert bits(triton.logprobs[0, :9]) == bits(got.logprobs[0, :9])


def test_more_columns_are_refused() -> None:
    with pytest.raises(InputError, match="524289 columns: exact_sample allows at most 524288"):
        run("native", np.zeros((1, 2**19 + 1)))

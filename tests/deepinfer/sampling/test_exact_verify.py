"""Coupled verification: a draft is accepted if and only if it is the token that is drawn anyway."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from deepinfer.sampling import SampleResult, SamplerInputs, sample

ROWS, COLUMNS = 64, 40
BACKENDS = ["reference", "native", "triton"]


@pytest.fixture
def inputs(generator: np.random.Generator) -> SamplerInputs:
    logits = generator.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    temperature = generator.choice([0, 0.5, 1], ROWS)
    return SamplerInputs(logits, temperature, 0.8, -1, generator.integers(0, 2**64, ROWS, np.uint64), np.arange(ROWS))


def drafted(inputs: SamplerInputs, ids: np.ndarray, generator: np.random.Generator) -> SamplerInputs:
    drafts = np.log(generator.random((ROWS, COLUMNS), np.float32) + np.float32(0.01))
    return replace(inputs, draft_logprobs=drafts, draft_ids=ids, is_verify=np.arange(ROWS) % 4 > 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_speculation_changes_no_token(
    exact_rows: ModuleType, inputs: SamplerInputs, generator: np.random.Generator, backend: str
) -> None:
    plain = sample("exact_sample", inputs, backend=backend)
    ids = np.where(generator.random(ROWS) < 0.5, plain.tokens, generator.integers(-1, COLUMNS, ROWS))
    made = drafted(inputs, ids, generator)
    got = sample("exact_sample", made, backend=backend)
    for name, value in exact_rows.arrays(plain).items():
        assert (exact_rows.arrays(got)[name] == value).all(), name
    checked = np.asarray(made.is_verify)
    assert got.accept is not None
    assert (got.accept[checked] == (ids == plain.tokens)[checked]).all()
    assert 0.3 < got.accept[checked].mean() < 0.9
    assert got.accept[~checked].all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_accept_prob_and_draft_logprob(inputs: SamplerInputs, generator: np.random.Generator, backend: str) -> None:
    ids = generator.integers(-1, COLUMNS, ROWS)
    made = drafted(inputs, ids, generator)
    got = sample("exact_sample", made, backend=backend)
    weights = got.record.weights
    assert weights is not None
    assert got.accept_prob is not None
    assert got.draft_logprob is not None
    assert made.draft_logprobs is not None
    rows, checked = np.arange(ROWS), np.asarray(made.is_verify)
    share = np.where(ids < 0, 0, weights[rows, ids] / got.record.total).astype(np.float32)
    assert (got.accept_prob == np.where(checked, share, 1)).all()
    assert ((share == 0) & checked & (ids >= 0)).any()  # drafts that top-p dropped, or that greedy is not
    assert (got.draft_logprob == np.where(ids < 0, -np.inf, made.draft_logprobs[rows, ids])).all()


def test_accept_prob_is_the_frequency_of_acceptance(generator: np.random.Generator) -> None:
    count = 20_000
    logits = np.broadcast_to(generator.standard_normal(8).astype(np.float32), (count, 8)).copy()
    flat = np.zeros_like(logits)
    made = SamplerInputs(
        logits, 0.9, seq_seed=5, position=np.arange(count), draft_logprobs=flat, draft_ids=3, is_verify=np.True_
    )
    got: SampleResult = sample("exact_sample", made, backend="native")
    assert got.accept is not None
    assert got.accept_prob is not None
    p = float(got.accept_prob[0])
    assert abs(got.accept.mean() - p) < 5 * np.sqrt(p * (1 - p) / count)


def test_block_by_block_is_token_by_token(generator: np.random.Generator) -> None:
    """Whatever the drafts say, the tokens of a sequence are those of one call a position."""
    logits = (generator.standard_normal((30, 50)) * 2).astype(np.float32)
    made = SamplerInputs(logits, 1, 0.9, 20, 11, np.arange(30))
    singly = [int(sample("exact_sample", made.rows([i]), backend="native").tokens[0]) for i in range(30)]
    for cut in (1, 3, 7):
        tokens: list[int] = []
        while len(tokens) < 30:
            block = np.arange(len(tokens), min(len(tokens) + cut, 30))
            ids = np.where(generator.random(len(block)) < 0.6, np.asarray(singly)[block], generator.integers(50))
            part = replace(
                made.rows(block),
                draft_logprobs=np.zeros((len(block), 50), np.float32),
                draft_ids=ids,
                is_verify=np.True_,
            )
            got = sample("exact_sample", part, backend="native")
            assert got.accept is not None
            rejected = np.flatnonzero(~got.accept)
            tokens += got.tokens[: rejected[0] + 1 if rejected.size else None].tolist()
        assert tokens == singly

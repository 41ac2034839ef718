"""The entry point: what it refuses, and what its certificates are worth under perturbed floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from repro.streams.samplers import AMBIGUOUS, CERTAIN, EXACT, SAMPLERS, replay
from repro.streams.samplers.cut import Cut
from repro.streams.samplers.race import race
from repro.streams.samplers.rejection import Limits
from repro.streams.samplers.rejection_paths import tokens_possible

if TYPE_CHECKING:
    from .conftest import Zoo

V2: dict[str, Any] = {"seed": 7, "position": 12, "role": "target", "precision": "float32"}


def test_names_are_unique_and_entries_whole() -> None:
    assert len({known.engine for known in SAMPLERS}) == len(SAMPLERS)
    for known in SAMPLERS:
        assert known.rows in ("logits", "probabilities")
        assert known.certificate in (EXACT, CERTAIN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": None}, "vllm_v2 needs seed"),
        ({"position": -1}, "position is -1"),
        ({"seed": [1, 2]}, "seed has 2 values: give one, or one for each of the 3 rows"),
        ({"seed": 2**64}, "seed is 18446744073709551616"),
        ({"role": "verifier"}, "give one of 'target', 'draft'"),
        ({"sm_count": 132}, "unknown fact of vllm_v2 'sm_count'"),
        ({"temperature": 0}, "greedy decoding draws nothing to replay"),
        ({"top_k": 0}, "top_k of row 0 is 0"),
        ({"top_p": 1.5}, "top_p of row 0"),
    ],
)
def test_wrong_facts_and_parameters(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay("vllm_v2", "0.33.0", np.zeros((3, 8), np.float32), **{**V2, **change})


def test_versions_between_two_known_ones() -> None:
    rows = np.zeros((1, 8), np.float32)
    for version in ("0.32.1", "0.34.0", "0.29.0"):
        with pytest.raises(InputError, match=r"known are 0\.31\.0, 0\.32\.0, 0\.33\.0"):
            replay("vllm_v2", version, rows, **V2)
    with pytest.raises(InputError, match="unknown sampler 'vllm': known are vllm_v1_cuda"):
        replay("vllm", "0.33.0", rows)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_cannot_be_drawn_from(bad: float) -> None:
    rows = np.zeros((2, 8), np.float32)
    rows[1, 3] = bad
    with pytest.raises(InputError, match="row 1 have NaN"):
        replay("vllm_v2", "0.33.0", rows, **V2)
    rows[1] = -np.inf
    with pytest.raises(InputError, match="nothing to draw"):
        replay("vllm_v2", "0.33.0", rows, **V2)
    with pytest.raises(InputError, match="float32"):
        replay("vllm_v2", "0.33.0", np.zeros((2, 8)), **V2)


def test_filtered_logits_with_a_filter_on() -> None:
    rows = np.zeros((2, 8), np.float32)
    rows[1, :3] = -np.inf
    with pytest.raises(InputError, match="row 1 are filtered already"):
        replay("vllm_v2", "0.33.0", rows, **V2, top_p=0.9)
    assert replay("vllm_v2", "0.33.0", rows, **V2).tokens[1] >= 3


def test_a_race_without_error_is_exact_and_a_close_one_ambiguous() -> None:
    score = np.asarray([[1.0, 2.0, 1.5], [1.0, 1.0, 0.0]])
    cut = Cut(np.ones((2, 3), bool), np.zeros((2, 3), bool))
    assert race("x", "1", score, 0.0, cut, "").certificate == (EXACT, EXACT)
    assert race("x", "1", score, 0.0, cut, "").tokens.tolist() == [1, 0]
    assert race("x", "1", score, 0.0, cut, "", last=True).tokens.tolist() == [1, 1]
    near = race("x", "1", score, 0.1, cut, "")
    assert near.certificate == (CERTAIN, AMBIGUOUS)
    assert near.possible == ((1,), (0, 1))
    doubt = Cut(cut.kept, np.asarray([[False, True, False]] * 2))
    assert race("x", "1", score, 0.1, doubt, "").possible == ((1, 2), (0, 1))


def test_no_certain_token_is_contradicted_by_perturbed_scores(generator: np.random.Generator) -> None:
    """Scores moved anywhere within their error, doubtful columns dropped or kept at random."""
    score = generator.normal(size=(2000, 24))
    error = np.abs(generator.normal(size=score.shape)) * 0.02
    kept = generator.random(score.shape) < 0.8
    kept[:, 0] = True
    doubtful = generator.random(score.shape) < 0.05
    made = race("x", "1", score, error, Cut(kept, doubtful), "")
    certain = np.asarray([certificate == CERTAIN for certificate in made.certificate])
    assert 0.6 < certain.mean() < 0.99
    for _ in range(10):
        moved = score + error * generator.uniform(-1, 1, score.shape)
        there = np.where(doubtful, generator.random(score.shape) < 0.5, kept)
        there[:, 0] |= ~there.any(axis=1)
        drawn = np.where(there, moved, -np.inf).argmax(axis=1)
        assert made.agrees(drawn)[(kept & ~doubtful).any(axis=1)].all()


def test_no_path_of_the_rejection_search_is_missed(generator: np.random.Generator) -> None:
    """Probabilities moved within the error lead to a token of the set."""
    error = 1e-4
    for _ in range(300):
        row = generator.dirichlet(np.full(20, 0.3))
        draws = generator.random(40).astype(np.float32)
        limits = Limits(top_k=int(generator.integers(1, 8)), top_p=np.float32(generator.uniform(0.2, 0.99)))
        allowed = tokens_possible(row, lambda n, draws=draws: draws[n], limits, error)
        moved = row * (1 + generator.uniform(-0.4, 0.4, 20) * error)
        assert plain_search(moved, draws, limits) in allowed


def plain_search(row: np.ndarray, draws: np.ndarray, limits: Limits) -> int:
    low, high, scale = 0.0, 1.0, 1.0
    for draw in draws:
        inside = row > low
        running = np.cumsum(np.where(inside, row, 0.0))
        hit = np.flatnonzero(inside & (running > draw * scale))
        token = int(hit[0]) if hit.size else int(np.flatnonzero(inside)[-1])
        first, second = row[token], (row[token] + high) / 2
        masses = [row[row > pivot].sum() for pivot in (first, second)]
        admitted = [
            limits.admits(int((row > pivot).sum()), np.float64(mass))
            for pivot, mass in zip((first, second), masses, strict=True)
        ]
        if admitted[0]:
            return token
        low, high, scale = (first, second, masses[0]) if admitted[1] else (second, high, masses[1])
        if low >= high:
            return token
    raise AssertionError("no end")


def test_replays_depend_on_their_facts(zoo: Zoo) -> None:
    rows = zoo.logits
    facts = {**V2, "seed": zoo.seeds, "position": zoo.positions}
    base = replay("vllm_v2", "0.33.0", rows, **facts).tokens
    for change in (
        {"seed": zoo.seeds + 1},
        {"position": zoo.positions + 1},
        {"role": "draft"},
        {"precision": "float64"},
    ):
        assert (replay("vllm_v2", "0.33.0", rows, **{**facts, **change}).tokens == base).sum() < 45

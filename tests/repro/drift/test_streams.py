"""A stream hypothesis is accepted for many rows or for none, and named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepinfer.rng.reference import words_many
from deepinfer.rng.spec import BLOCK_ROW_STRIDE
from repro.drift.hypotheses import Keys, hypotheses
from repro.drift.streams import CHANCE, tail_probability


def drawn_with(rows: Any, seed: int = 0, subsequence: int = 0) -> Any:
    return np.asarray([rows.draw(row, rows.weights(row), seed, subsequence) for row in range(len(rows.tokens))])


@pytest.mark.parametrize(
    ("moved", "name"),
    [
        ({"subsequence": 3}, "position +1"),
        ({"subsequence": -6}, "position -2"),
        ({"subsequence": 1}, "subsequence +1 (another purpose)"),
        ({"seed": 1}, "seed +1"),
        ({"seed": 1_000_000_007}, "seed +1000000007 (the draft model's)"),
        ({"subsequence": 3 * 2 * (BLOCK_ROW_STRIDE - 1)}, "numbered as row 2 of a verify block"),
    ],
)
def test_a_moved_stream_is_named_and_explains_every_row(narrow: Any, moved: dict[str, int], name: str) -> None:
    tokens = drawn_with(narrow, **moved)
    differing = int((tokens != narrow.tokens).sum())
    attribution, evidence = narrow.told(tokens)
    assert attribution.causes == {"rng_stream": differing}
    assert attribution.unexplained == 0
    found = evidence["about"]["stream"]
    assert found["hypothesis"] == name
    assert found["keeps_agreement"]
    assert found["chance"] <= CHANCE
    assert {row["counterfactuals"][0]["stream"] for row in attribution.rows} == {name}


@pytest.mark.parametrize(("taken", "name"), [(1, "word offset +1"), (4, "word offset +4"), (3, None)])
def test_words_taken_out_of_turn(narrow: Any, taken: int, name: str | None) -> None:
    """The draw begins at another word; or (None) it takes the last word of each block."""
    tokens = []
    for row in range(len(narrow.tokens)):
        edges, order = narrow.edges(row)
        total = int(edges[-1])
        words = [word for word, _ in zip(narrow.words(row), range(160), strict=False)]
        words = words[taken:] if name else words[taken::4]
        word = next(word for word in words if word < (2**32 - 1) // total * total)
        tokens.append(int(order[np.searchsorted(edges, word % total, side="right")]))
    attribution, evidence = narrow.told(tokens)
    assert evidence["about"]["stream"]["hypothesis"] == (name or "the last word of each block")
    assert attribution.unexplained == 0


def test_a_moved_stream_and_the_step_together(narrow: Any) -> None:
    """Ten rows lie across the step as well: named as a pair."""
    tokens = drawn_with(narrow, subsequence=3)
    moved = type(narrow)(narrow.inputs, narrow.recorded(subsequences=narrow.result.record.subsequences + np.uint64(3)))
    flips = moved.flipped()
    both = np.flatnonzero((flips != tokens) & (flips != narrow.tokens))[:10]
    tokens[both] = flips[both]
    attribution, _ = narrow.told(tokens)
    assert attribution.causes["rng_stream+rejection_limit"] == len(both) == 10
    assert attribution.unexplained == 0


def test_a_stream_moved_in_some_rows_only(narrow: Any) -> None:
    moved = drawn_with(narrow, seed=1)
    tokens = narrow.tokens.copy()
    rows = np.flatnonzero(moved != tokens)[:40]
    tokens[rows] = moved[rows]
    attribution, evidence = narrow.told(tokens)
    assert not evidence["about"]["stream"]["keeps_agreement"]
    assert attribution.causes["rng_stream"] >= 0.85 * len(rows)  # a row that the step gives too is named after it
    assert attribution.unexplained == 0


def test_three_rows_prove_no_stream(narrow: Any) -> None:
    moved = drawn_with(narrow, seed=1)
    tokens = narrow.tokens.copy()
    rows = np.flatnonzero((moved != tokens) & (moved != narrow.flipped()))[:3]
    tokens[rows] = moved[rows]
    attribution, evidence = narrow.told(tokens)
    assert attribution.unexplained == 3
    assert evidence["about"]["stream"] is None


def test_the_other_numbering_is_found_where_rows_belong_to_verify_blocks(make_rows: Any) -> None:
    logits = np.random.default_rng(11).normal(size=(200, 64))
    base = np.arange(200) // 4 * 5
    blocks = {"block_base": base, "block_row": np.arange(200) % 4, "numbering": "absolute"}
    rows = make_rows(logits, 12, **blocks)
    upstream = make_rows(logits, 12, **{**blocks, "numbering": "deepinfer"})
    differing = int((rows.tokens != upstream.tokens).sum())
    attribution, evidence = rows.told(upstream.tokens)
    assert differing >= 100
    assert evidence["about"]["stream"]["hypothesis"] == "the other numbering"
    assert attribution.causes == {"rng_stream": differing}


def test_every_hypothesis_gives_words_of_its_own() -> None:
    keys = Keys(
        np.asarray([2**40 + 2**31 + 5, 2**33 + 7, 11], np.uint64),
        np.asarray([300, 33, 9], np.uint64),
        np.zeros(3, np.uint64),
        np.arange(3, dtype=np.uint64),
    )
    tried = hypotheses()
    lanes = np.arange(4)
    words = []
    for one in tried:
        with np.errstate(over="ignore"):
            stream = one.change(keys)
        words.append(tuple(words_many(*stream, int(one.lane(lanes).max()) + 1)[:, one.lane(lanes)].ravel().tolist()))
    own = tuple(words_many(keys.seeds, keys.subsequences, keys.none, 4).ravel().tolist())
    assert own not in words
    assert len(set(words)) == len(tried)
    assert len({one.name for one in tried}) == len(tried)


def test_tail_probability_is_the_poisson_binomial() -> None:
    assert tail_probability(np.asarray([0.5, 0.5]), 1) == pytest.approx(0.75)
    assert tail_probability(np.asarray([0.1, 0.2, 0.3]), 3) == pytest.approx(0.006)
    assert tail_probability(np.asarray([0.1] * 10), 0) == pytest.approx(1)

"""What a row says in words, and that a run's JSON is all it needs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from harness.plain import plain
from repro.drift import arithmetic, story, table_row
from repro.drift.story import phrase, total_text

ABOUT = {"model": "candidate", "draw": "modulo_reject", "columns": 4096}
ROW = {
    "row": 6,
    "cause": "rejection_limit",
    "kept_cause": "",
    "baseline_token": 8,
    "candidate_token": 561,
    "model_token": 561,
    "kept_count": 10,
    "model_total": 2**31 + 48,
    "baseline_total": None,
    "candidate_total": 2**31 + 48,
    "limit": 2**31 + 48,
    "words": [2502545059, 1044844100],
    "word_count": 2,
    "residue": 1044844100,
    "interval": [1014780008, 1050418264],
    "predicted": 0.389,
    "seed": 1249327180368884901,
    "subsequence": 277179657,
    "counterfactuals": [
        {
            "side": "baseline",
            "token": 8,
            "cause": "rejection_limit",
            "side_total": None,
            "steps": [
                {
                    "cause": "rejection_limit",
                    "substituted": "limit 2 x total for 1 x total",
                    "margin": 48,
                    "bound": 99,
                }
            ],
            "also": ["cdf_boundary"],
            "stream": None,
            "kept_count": 10,
            "total": 2**31 + 48,
            "limit": 2**32,
            "words": [2502545059],
            "residue": 355061363,
            "interval": [227768032, 399171824],
        }
    ],
}
SAID = """\
row 6: baseline 8, candidate 561: the rejection limit
weights of      the candidate
kept            10 of 4,096 columns
total           2,147,483,696 = 2^31 + 48
stream          seed 1249327180368884901, subsequence 277179657
limit           2,147,483,696 = 1 x total
word 0          2,502,545,059 rejected: not below 2,147,483,696
word 1          1,044,844,100 accepted
residue         1,044,844,100 = word mod total
token           561, drawn by 1,014,780,008 <= residue < 1,050,418,264
counterfactual  take the baseline's side of the step: limit 2 x total for 1 x total (48 units away, admissible up to 99)
word 0          2,502,545,059 accepted
residue         355,061,363 = word mod total
token           8, drawn by 227,768,032 <= residue < 399,171,824: the baseline's
                given by a residue beside an edge of the CDF as well
expected        the sides' tokens differ with probability 0.39"""


def test_the_arithmetic_of_a_row() -> None:
    assert arithmetic(ROW, ABOUT) == SAID.splitlines()
    assert story(ROW, ABOUT).title == "baseline 8, candidate 561: the rejection limit"


def test_a_row_without_an_explanation_says_so() -> None:
    entry = {"side": "baseline", "token": 8, "cause": None, "side_total": None}
    told = story({**ROW, "cause": "unexplained", "counterfactuals": [entry]}, ABOUT)
    assert told.title == "baseline 8, candidate 561: unexplained"
    assert ("counterfactual", "none that is admissible gives the baseline's token 8") in told.facts


def test_a_row_that_drew_nothing() -> None:
    told = story({**ROW, "cause": "", "word_count": 0, "counterfactuals": []}, ABOUT)
    assert ("token", "561, without a draw") in told.facts
    assert "residue" not in told.text


@pytest.mark.parametrize(
    ("total", "text"),
    [
        (2**31, "2,147,483,648 = 2^31"),
        (2**31 - 1, "2,147,483,647 = 2^31 - 1"),
        (2**31 + 12345, "2,147,495,993 = 2^31 + 12,345"),
        (2**20, "1,048,576"),
        (2**44, "17,592,186,044,416"),
    ],
)
def test_totals_are_told_from_the_step(total: int, text: str) -> None:
    assert total_text(total) == text


def test_every_cause_has_words_of_its_own() -> None:
    named = ["rejection_limit", "threshold_crossing", "tie_breaking", "cdf_boundary", "rng_stream", "draw_rule"]
    words = {phrase(cause) for cause in named}
    assert len(words) == len(named)
    assert not words & set(named)
    assert phrase("rng_stream+rejection_limit") == "another random stream and the rejection limit"


@pytest.fixture(scope="module")
def run(narrow: Any) -> tuple[Any, Any]:
    """A planted case after its way through JSON."""
    attribution, evidence = narrow.told(narrow.flipped())
    again = json.loads(json.dumps(plain({"rows": attribution.rows, "evidence": evidence})))
    return again["rows"], again["evidence"]


def test_every_row_of_a_run_has_a_story(narrow: Any, run: tuple[Any, Any]) -> None:
    rows, evidence = run
    for row in rows:
        assert len(arithmetic(row, evidence["about"])) >= 9
    for index in range(len(narrow.tokens)):
        lines = arithmetic(table_row(evidence["rows"], index), evidence["about"])
        assert lines[0].startswith(f"row {index}: ")
        assert not any("None" in line for line in lines)


def test_the_table_holds_what_the_record_holds(narrow: Any, run: tuple[Any, Any]) -> None:
    table, record = run[1]["rows"], narrow.result.record
    assert table["row"] == list(range(len(narrow.tokens)))
    assert table["model_total"] == record.total.tolist()
    assert table["limit"] == record.limit.tolist()
    assert table["residue"] == record.residue.tolist()
    assert table["word_count"] == record.word_count.tolist()
    assert table["words"] == [
        words[:count].tolist() for words, count in zip(record.words, record.word_count, strict=True)
    ]
    assert table["candidate_token"] == narrow.tokens.tolist()
    assert table["seed"] == record.seeds.tolist()
    assert [side == "below" for side in table["side"]] == (record.total < 2**31).tolist()
    flips = narrow.flipped()
    for token, flip, own in zip(table["flip_token"], flips.tolist(), narrow.tokens.tolist(), strict=True):
        assert token == flip if token is not None else flip == own


def test_pictures_get_consistent_numbers(narrow: Any) -> None:
    flips = narrow.flipped()
    _, evidence = narrow.told(flips)
    totals, cdf = evidence["totals"], evidence["cdf"]
    assert totals["modelled"] == ["baseline"]
    for baseline, candidate, differs in zip(totals["baseline"], totals["candidate"], totals["differs"], strict=True):
        if differs:
            assert (baseline < 2**31) != (candidate < 2**31)
    row = cdf["row"]
    for side, tokens in (("baseline", flips), ("candidate", narrow.tokens)):
        drawn = cdf[side]
        assert drawn["token"] == tokens[row]
        assert drawn["limit"] // drawn["total"] in (1, 2)
        assert [drawn["edges"][0], drawn["edges"][-1]] == [0, drawn["total"]]
        assert (np.diff(drawn["edges"]) > 0).all()
        assert drawn["interval"][0] <= drawn["residue"] < drawn["interval"][1]
        assert drawn["words"][-1] < drawn["limit"]
        assert all(word >= drawn["limit"] for word in drawn["words"][:-1])
        beside = drawn["beside"]
        assert len(beside["edges"]) == len(beside["columns"]) + 1
        at = beside["columns"].index(drawn["token"])
        assert beside["edges"][at : at + 2] == drawn["interval"]

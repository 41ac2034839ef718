"""A run made by hand: one drawn case that needs escaping, one bitwise case, one that could not be compared."""

from __future__ import annotations

import pytest

from harness.result import Attribution, CaseResult, Comparison, Difference, Predicted, Rate, RunResult, Verdict

HOSTILE = "<script>alert(1)</script>/a&b\"'|`*_[x](y)"

ONE = 2**31

ROWS = {
    "row": [0, 1, 2, 3],
    "cause": ["", "", "rejection_limit", ""],
    "kept_cause": ["", "", "", ""],
    "baseline_token": [1, 2, 7, 4],
    "candidate_token": [1, 2, 9, 4],
    "model_token": [1, 2, 9, 4],
    "kept_count": [10, 10, 10, 10],
    "model_total": [ONE - 1, ONE + 4, ONE - 3, ONE],
    "baseline_total": [None, None, None, None],
    "candidate_total": [ONE - 1, ONE + 4, ONE - 3, ONE],
    "limit": [2 * ONE - 2, ONE + 4, 2 * ONE - 6, ONE],
    "words": [[5], [6], [ONE + 100], [7]],
    "word_count": [1, 1, 1, 1],
    "residue": [5, 6, 103, 7],
    "interval": [[0, 10], [0, 10], [100, 200], [0, 10]],
    "predicted": [0.0, 0.0, 0.25, 0.0],
    "seed": [2**64 - 1, 1, 2, 3],
    "subsequence": [0, 3, 6, 9],
}
COUNTERFACTUAL = {
    "side": "baseline",
    "token": 7,
    "cause": "rejection_limit",
    "side_total": None,
    "steps": [{"cause": "rejection_limit", "substituted": "limit 1 x total for 2 x total", "margin": 3, "bound": 90}],
    "also": [],
    "stream": None,
    "total": ONE - 3,
    "limit": ONE - 3,
    "words": [ONE + 100, 1_000_000_000],
    "residue": 1_000_000_000,
    "interval": [900_000_000, 1_100_000_000],
}
BASELINE = {
    "total": ONE,
    "limit": ONE,
    "words": [ONE + 100, 1_000_000_000],
    "residue": 1_000_000_000,
    "token": 7,
    "interval": [900_000_000, 1_100_000_000],
    "edges": [0, 100, 900_000_000, 1_100_000_000, ONE],
    "beside": {"columns": [5, 7, 8], "edges": [100, 900_000_000, 1_100_000_000, ONE]},
}
CANDIDATE = {
    "total": ONE - 3,
    "limit": 2 * ONE - 6,
    "words": [ONE + 100],
    "residue": 103,
    "token": 9,
    "interval": [100, 900_000_000],
    "edges": [0, 100, 900_000_000, 1_100_000_000, ONE - 3],
    "beside": {"columns": [3, 9], "edges": [0, 100, 900_000_000]},
}
EVIDENCE = {
    "rows": ROWS,
    "about": {"model": "candidate", "draw": "modulo_reject", "columns": 4096},
    "totals": {
        "rows": [0, 2, 3],
        "baseline": [ONE - 4, ONE + 1, ONE],
        "candidate": [ONE - 1, ONE - 3, ONE],
        "differs": [False, True, False],
        "modelled": ["baseline"],
    },
    "cdf": {"row": 2, "baseline": BASELINE, "candidate": CANDIDATE},
}
"""What the attribution leaves of four rows, of which the third differs."""


@pytest.fixture(scope="session")
def hostile() -> str:
    """A case name that HTML, Markdown and the shell would each read in their own way."""
    return HOSTILE


@pytest.fixture(scope="session")
def run_result() -> RunResult:
    drawn = Comparison(
        output="tokens",
        rule="agreement",
        verdict=Verdict.INCONCLUSIVE,
        reason="agreement 3/4 = 75.0 % (95 % Wilson 30.1-95.4; one-sided exact lower 24.9)",
        elements=4,
        rows=4,
        differing=1,
        first=Difference((2,), "7", "9", "0x00000007", "0x00000009", 2),
        rate=Rate(3, 4, 0.2486, (0.301, 0.954), 0.5, Verdict.INCONCLUSIVE, None, 40),
        attribution=Attribution(
            causes={"rejection_limit": 1},
            unexplained=0,
            false_match={"rejection_limit": 0.0625, "total": 0.0625},
            residual=Rate(4, 4, 0.47, (0.51, 1.0), 1.0),
            predicted=Predicted(0.8, (0.6, 0.95), True),
            rows=({**{name: values[2] for name, values in ROWS.items()}, "counterfactuals": [COUNTERFACTUAL]},),
        ),
    )
    values = Comparison(
        output="logprobs",
        rule="bitwise",
        verdict=Verdict.DRIFT,
        reason="1 of 8 elements not equal bits, at most 1 ULP apart",
        elements=8,
        rows=4,
        differing=1,
        first=Difference((1, 0), "-0.5", "-0.50000006", "0xbf000000", "0xbf000001", 1),
        worst=Difference((1, 0), "-0.5", "-0.50000006", "0xbf000000", "0xbf000001", 1),
        max_ulp=1,
        median_ulp=0.0,
        histogram={"0": 7, "1": 1},
    )
    missing = Comparison("kept", "same_set", Verdict.NOT_COMPARABLE, "missing in the candidate")
    return RunResult(
        suite="sampling",
        options={"case": ["*"], "baseline": None},
        cases=(
            CaseResult(HOSTILE, Verdict.INCONCLUSIVE, "tokens: too few rows", "recorded <b>", "candidate & co",
                       {"logits": "00ff"}, (drawn,), ("a note",), EVIDENCE),
            CaseResult("plain/bits", Verdict.DRIFT, "logprobs: 1 of 8", "one", "other", {"x": "01"}, (values,)),
            CaseResult("plain/missing", Verdict.NOT_COMPARABLE, "kept: missing", "one", "other", {}, (missing,)),
        ),
    )  # fmt: skip

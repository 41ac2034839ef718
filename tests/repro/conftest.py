"""A run made by hand: one drawn case that needs escaping, one bitwise case, one that could not be compared."""

from __future__ import annotations

import pytest

from harness.result import Attribution, CaseResult, Comparison, Difference, Predicted, Rate, RunResult, Verdict

HOSTILE = "<script>alert(1)</script>/a&b\"'|`*_[x](y)"


@pytest.fixture
def hostile() -> str:
    """A case name that HTML, Markdown and the shell would each read in their own way."""
    return HOSTILE


@pytest.fixture
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
            rows=({"row": 2, "cause": "rejection_limit", "baseline_token": 7, "candidate_token": 9},),
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
    rows = {
        "row": [0, 1, 2, 3],
        "baseline_token": [1, 2, 7, 4],
        "candidate_token": [1, 2, 9, 4],
        "total": [2**31 - 1, 2**31 + 4, 2**31 - 3, 2**31],
    }
    return RunResult(
        suite="sampling",
        options={"case": ["*"], "baseline": None},
        cases=(
            CaseResult(HOSTILE, Verdict.INCONCLUSIVE, "tokens: too few rows", "recorded <b>", "candidate & co",
                       {"logits": "00ff"}, (drawn,), ("a note",), {"rows": rows}),
            CaseResult("plain/bits", Verdict.DRIFT, "logprobs: 1 of 8", "one", "other", {"x": "01"}, (values,)),
            CaseResult("plain/missing", Verdict.NOT_COMPARABLE, "kept: missing", "one", "other", {}, (missing,)),
        ),
    )  # fmt: skip

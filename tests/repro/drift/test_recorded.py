"""Against DeepInfer's own kernel: every difference explained, every rate as predicted, every probe honest."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from harness.cases.sampling import cases
from harness.runner import run
from repro.drift import explain

KINDS = ("real", "normal3_1024", "bf16_full")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Case name -> result, of the fresh kinds against the recording on the native backend."""
    wanted = [
        case
        for case in cases(backend="native")
        if case.name.split("/")[0] in KINDS and case.name.endswith("fused_sample-vs-deepinfer-0.1.0")
    ]
    wanted += [case for case in cases(backend="native") if case.name.endswith("fused_sample-vs-two_level")]
    result = run(wanted, explain=partial(explain, backend="native"))
    return {case.name: case for case in result.cases}


def drawn(case: Any) -> Any:
    return next(one for one in case.comparisons if one.rate is not None)


def test_no_row_is_unexplained(found: dict[str, Any]) -> None:
    assert len(found) == 22
    differing = 0
    for name, case in found.items():
        attribution = drawn(case).attribution
        assert attribution.unexplained == 0, name
        assert attribution.residual.equal == attribution.residual.rows
        differing += drawn(case).differing
        for row in attribution.rows:
            for step in row["counterfactuals"][0]["steps"]:
                assert step["margin"] <= step["bound"], (name, row["row"])
    assert differing >= 100


def test_every_kept_set_that_differs_is_a_proven_crossing(found: dict[str, Any]) -> None:
    causes = [cause for case in found.values() for cause in case.evidence["rows"]["kept_cause"] if cause]
    assert set(causes) == {"threshold_crossing"}


def test_every_rate_lies_in_its_predicted_interval(found: dict[str, Any]) -> None:
    outside = [name for name, case in found.items() if not drawn(case).attribution.predicted.inside]
    assert outside == []
    wide = [drawn(case).attribution.predicted.interval for name, case in found.items() if name.startswith("real/")]
    assert all(high - low < 0.1 for low, high in wide)


def test_unrelated_tokens_stay_unexplained(found: dict[str, Any]) -> None:
    shares = {name: drawn(case).attribution.false_match["total"] for name, case in found.items()}
    assert max(shares.values()) <= 0.15
    assert max(shares.values()) > 0.05


def test_restored_rows_lie_well_inside_their_bounds(found: dict[str, Any]) -> None:
    """The bound is not what makes a row restorable: on the real rows none needs a third of it."""
    real = [row for name, case in found.items() if name.startswith("real/") for row in drawn(case).attribution.rows]
    assert len(real) >= 40
    assert max(row["margin"] / row["bound"] for row in real) < 0.34
    assert max(row["margin"] for row in real) <= 600

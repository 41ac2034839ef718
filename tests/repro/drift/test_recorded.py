"""Against DeepInfer's own kernel: every difference explained, every rate as predicted, every probe honest."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from harness import recorded
from harness.case import Case, Floor
from harness.compare import rows_differ
from harness.rules import agreement
from harness.subjects import SamplerSubject, recorded_subject
from repro.drift import explain

KINDS = ("real", "normal3_1024", "bf16_full")
NATIVE = SamplerSubject("fused_sample", "native")


def told(kind: str, config: str, baseline: Any) -> tuple[Any, Any]:
    load = partial(recorded.load_inputs, kind, config)
    inputs = load()
    sides = [side(inputs, ("tokens", "kept", "lse")) for side in (baseline, NATIVE)]
    case = Case("recorded", load, {"tokens": agreement()}, baseline, NATIVE, Floor(0.0))
    return explain(case, inputs, sides[0], sides[1], rows_differ(*(side.arrays["tokens"] for side in sides)))


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """KIND/CONFIG -> (attribution, evidence) of the native candidate against the recording."""
    return {
        f"{kind}/{config}": told(kind, config, recorded_subject(recorded.RECORDING, kind, config))
        for kind in KINDS
        for config in recorded.configs(kind)
    }


def test_no_row_is_unexplained(found: dict[str, Any]) -> None:
    differing = 0
    for name, (attribution, _) in found.items():
        assert attribution.unexplained == 0, name
        assert attribution.residual.equal == attribution.residual.rows
        differing += len(attribution.rows)
        for row in attribution.rows:
            for step in row["counterfactuals"][0]["steps"]:
                assert step["margin"] <= step["bound"], (name, row["row"])
    assert differing >= 100


def test_every_kept_set_that_differs_is_a_proven_crossing(found: dict[str, Any]) -> None:
    causes = [cause for _, evidence in found.values() for cause in evidence["rows"]["kept_cause"] if cause]
    assert set(causes) == {"threshold_crossing"}


def test_every_rate_lies_in_its_predicted_interval(found: dict[str, Any]) -> None:
    assert [name for name, (attribution, _) in found.items() if not attribution.predicted.inside] == []
    wide = [attribution.predicted.interval for name, (attribution, _) in found.items() if name.startswith("real/")]
    assert all(high - low < 0.1 for low, high in wide)


def test_unrelated_tokens_stay_unexplained(found: dict[str, Any]) -> None:
    shares = [attribution.false_match["total"] for attribution, _ in found.values()]
    assert 0.05 < max(shares) <= 0.15


def test_restored_rows_lie_well_inside_their_bounds(found: dict[str, Any]) -> None:
    """The bound is not what makes a row restorable: on the real rows none needs a third of it."""
    real = [row for name, (attribution, _) in found.items() if name.startswith("real/") for row in attribution.rows]
    assert len(real) >= 20
    assert max(row["margin"] / row["bound"] for row in real) < 0.34
    assert max(row["margin"] for row in real) <= 600


@pytest.mark.parametrize("config", ["engine", "k50p.9"])
def test_two_native_samplers_explain_each_other(config: str) -> None:
    attribution, evidence = told("real", config, SamplerSubject("two_level", "native"))
    assert len(attribution.rows) >= 3
    assert attribution.causes == {"rejection_limit": len(attribution.rows)}
    assert attribution.predicted.inside
    assert evidence["totals"]["modelled"] == []
    for row in attribution.rows:
        assert (row["baseline_total"] < 2**31) != (row["candidate_total"] < 2**31)

"""Whose weights are used, what is known of the sides, and cases of other kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepinfer.sampling import draw_tokens
from harness.case import Case, Floor, Outputs
from harness.plain import plain
from harness.rules import agreement
from harness.subjects import callable_subject, recorded_subject
from repro.drift import explain
from repro.drift.contract import BY_ORDER, CUDA, OTHER, arithmetic_of


def case_of(inputs: Any) -> Case:
    side = callable_subject(lambda given: given["position"], "a kernel")
    return Case("a case", lambda: inputs, {"tokens": agreement()}, side, side, Floor(0.5))


def test_without_a_record_both_sides_are_held_against_our_own_model(narrow: Any) -> None:
    tokens = narrow.flipped()
    differing = int((tokens != narrow.tokens).sum())
    attribution, evidence = narrow.told(tokens, record=False)
    assert evidence["about"]["model"] == "reference"
    assert attribution.causes == {"rejection_limit": differing}
    assert {row["counterfactuals"][0]["side"] for row in attribution.rows} == {"baseline"}


def test_two_sides_that_both_left_the_model_need_two_counterfactuals(narrow: Any) -> None:
    flips = narrow.flipped()
    rows = np.flatnonzero(flips != narrow.tokens)[:30]
    baseline, candidate = narrow.tokens.copy(), narrow.tokens.copy()
    baseline[rows] = flips[rows]
    candidate[rows] = (flips[rows] + 1 + (flips[rows] + 1 == narrow.tokens[rows])) % 256
    outputs = [Outputs({"tokens": tokens}) for tokens in (baseline, candidate)]
    differs = baseline != candidate
    attribution, _ = explain(case_of(narrow.inputs), narrow.inputs, outputs[0], outputs[1], differs)
    assert attribution.unexplained >= 0.8 * len(rows)
    assert all(len(row["counterfactuals"]) == 2 for row in attribution.rows)
    both, _ = explain(case_of(narrow.inputs), narrow.inputs, outputs[0], outputs[0], np.zeros(len(baseline), np.bool_))
    assert both.causes == {}
    assert both.unexplained == 0


def test_the_candidate_without_a_record_is_explained_by_the_baselines(narrow: Any) -> None:
    tokens = narrow.flipped().astype(np.int32)
    baseline = Outputs({"tokens": narrow.tokens}, evidence=narrow.result)
    attribution, evidence = explain(
        case_of(narrow.inputs), narrow.inputs, baseline, Outputs({"tokens": tokens}), tokens != narrow.tokens
    )
    assert evidence["about"]["model"] == "baseline"
    assert attribution.unexplained == 0
    assert {row["counterfactuals"][0]["side"] for row in attribution.rows} == {"candidate"}


def test_sides_known_to_draw_by_different_rules(make_rows: Any) -> None:
    logits = np.random.default_rng(13).normal(size=(200, 128))
    shift = make_rows(logits, 14, draw="multiply_shift")
    reject = make_rows(logits, 14)
    differing = int((shift.tokens != reject.tokens).sum())
    attribution, _ = shift.told(reject.tokens, evidence=reject.result)
    assert differing >= 50
    assert attribution.causes == {"draw_rule": differing}
    assert attribution.predicted.rate == pytest.approx(1 - differing / 200)
    assert attribution.predicted.inside


def test_rules_without_a_step_are_explained_without_it(make_rows: Any) -> None:
    rows = make_rows(np.random.default_rng(15).normal(size=(100, 128)), 16, draw="multiply_shift")
    tokens = (rows.tokens + 1) % 128
    attribution, _ = rows.told(tokens)
    assert attribution.unexplained == 100
    assert attribution.predicted.rate > 0.99
    assert not attribution.predicted.inside


def test_exact_sample_is_expected_to_agree(make_rows: Any) -> None:
    rows = make_rows(np.random.default_rng(17).normal(size=(60, 128)), 18, sampler="exact_sample", top_k=40)
    attribution, _ = rows.told(rows.tokens, evidence=rows.result)
    assert (attribution.predicted.rate, attribution.predicted.interval) == (1, (1, 1))
    tokens = rows.tokens.copy()
    tokens[:5] = (tokens[:5] + 1) % 128
    attribution, _ = rows.told(tokens, evidence=rows.result)
    assert attribution.unexplained == 5
    assert not attribution.predicted.inside


def test_another_sampler_is_not_predicted(make_rows: Any) -> None:
    logits = np.random.default_rng(19).normal(size=(60, 64))
    exact, level = make_rows(logits, 20, sampler="exact_sample"), make_rows(logits, 20)
    attribution, _ = exact.told(level.tokens, evidence=level.result)
    assert attribution.predicted is None


def test_greedy_rows_draw_nothing_and_stay_unexplained(make_rows: Any) -> None:
    rows = make_rows(np.random.default_rng(21).normal(size=(10, 32)), 22, temperature=0.0)
    tokens = rows.tokens.copy()
    tokens[3] = (tokens[3] + 1) % 32
    attribution, evidence = rows.told(tokens)
    assert attribution.unexplained == 1
    assert evidence["rows"]["word_count"] == [0] * 10
    plain(evidence)


def test_probabilities_given_leave_nothing_but_the_stream(narrow: Any) -> None:
    """The integer sampler alone: no weight is uncertain, so no flip is admissible; another purpose is found."""
    random = np.random.default_rng(23)
    probs = random.dirichlet(np.full(64, 0.5), 150).astype(np.float32)
    inputs: dict[str, Any] = {
        "probs": probs,
        "seq_seed": random.integers(0, 2**64, 150, dtype=np.uint64),
        "position": np.arange(150),
        "purpose": 0,
    }
    ours, other = (draw_tokens(**{**inputs, "purpose": purpose}, backend="reference") for purpose in (0, 1))
    differs = ours != other
    attribution, evidence = explain(
        case_of(inputs), inputs, Outputs({"tokens": other}), Outputs({"tokens": ours}), differs
    )
    assert attribution.causes == {"rng_stream": int(differs.sum())}
    assert evidence["about"]["stream"]["hypothesis"] == "subsequence +1 (another purpose)"
    assert set(evidence["rows"]["bound"]) == {-1}


def test_inputs_that_are_no_samplers_keep_their_rows() -> None:
    tokens = np.asarray([1, 2, 3], np.int32)
    differs = np.asarray([True, False, True])
    outputs = [Outputs({"tokens": tokens}), Outputs({"tokens": tokens + differs})]
    attribution, evidence = explain(case_of({"x": tokens}), {"x": tokens}, outputs[0], outputs[1], differs)
    assert (attribution.unexplained, attribution.predicted, evidence) == (2, None, {})


def test_rows_that_could_not_be_sampled_are_left_alone(make_rows: Any) -> None:
    logits = np.random.default_rng(25).normal(size=(6, 16)).astype(np.float32)
    rows = make_rows(logits, 26, top_k=8)
    bad = logits.copy()
    bad[2, 3] = np.nan
    inputs = {**rows.inputs, "logits": bad}
    tokens = [rows.tokens.copy(), rows.tokens.copy()]
    tokens[1][2] = (tokens[1][2] + 1) % 16
    outputs = [Outputs({"tokens": one}) for one in tokens]
    attribution, evidence = explain(case_of(inputs), inputs, outputs[0], outputs[1], tokens[0] != tokens[1])
    assert attribution.unexplained == 1
    assert plain(evidence)["rows"]["word_count"][2] == 0


def test_what_is_assumed_of_each_arithmetic() -> None:
    recording = recorded_subject("deepinfer-0.1.0", "real", "narrow")
    assert arithmetic_of(recording, None) is CUDA
    assert arithmetic_of(case_of({}).candidate, "fp64") is BY_ORDER["fp64"]
    assert arithmetic_of(recording, "a new order") is OTHER

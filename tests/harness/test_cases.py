"""The suite: what it holds, how it is selected and overridden, and that it finds a defect put into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepinfer.errors import InputError
from deepinfer.sampling.spec import ONE
from harness import recorded
from harness.agreement import judge, lower_bound
from harness.case import Case, Inputs, Outputs
from harness.cases import select, study, suite
from harness.cases.sampling import BOUNDS
from harness.result import Attribution, Predicted, Rate, Verdict
from harness.rules import Agreement, SameSet
from harness.runner import run, run_case


def named(pattern: str, **options: Any) -> list[Case]:
    return select(suite("sampling", backend="reference", **options), pattern)


def accepts_all(
    case: Case, inputs: Inputs, baseline: Outputs, candidate: Outputs, differs: np.ndarray
) -> tuple[Attribution, Mapping[str, Any]]:
    """A stand-in for the drift analysis: every row has a cause."""
    count = int(differs.sum())
    rate = Rate(1, 1, 0.0, (0.0, 1.0))
    return Attribution({"test": count}, 0, {}, rate, Predicted(1.0, (0.0, 1.0), True)), {}


def test_names_are_unique_and_the_suite_is_complete() -> None:
    names = [case.name for case in suite("sampling", backend="native")]
    assert len(names) == len(set(names))
    for kind in recorded.FRESH_KINDS:
        for config in recorded.configs(kind):
            assert f"{kind}/{config}/two_level-vs-deepinfer-0.1.0" in names
            assert f"{kind}/{config}/fused_sample-vs-deepinfer-0.1.0" in names
    for config in recorded.CONFIGS:
        assert f"real/{config}/fused_sample-vs-two_level" in names
    for kind in recorded.DRAW_KINDS + recorded.VERIFY_KINDS:
        assert any(name.startswith(f"{kind}/") for name in names)
    assert "real/k50p.9/exact_sample-native-vs-reference" in names
    assert {name.split("/")[2].split("-")[0] for name in names if name.startswith("study/")} == {
        "divide", "clamp", "multiply_shift",
    }  # fmt: skip


def test_every_case_compares_tokens_and_a_drawn_one_has_a_floor_that_its_rows_can_prove() -> None:
    for case in suite("sampling", backend="native"):
        assert "tokens" in case.rules, case.name
        drawn = [rule for rule in case.rules.values() if isinstance(rule, Agreement)]
        assert len(drawn) <= 1
        assert bool(drawn) == (case.floor is not None), case.name
        for rule in case.rules.values():
            assert not isinstance(rule, SameSet) or rule.floor in (0.99, 0.85)


@pytest.mark.parametrize("kind", recorded.FRESH_KINDS)
def test_floors_can_be_proven_by_their_rows(kind: str) -> None:
    rows = len(recorded.load_outputs(kind, "engine")["tokens"])
    for config in recorded.configs(kind):
        floor = BOUNDS[kind].raw[config]
        assert lower_bound(rows, rows) >= floor
        assert judge(0, rows, floor) is Verdict.DRIFT


def test_the_twin_meets_the_recording_on_real_rows() -> None:
    """Kept columns, sums and log-probabilities as recorded; tokens to the rate that the floor asks for."""
    (case,) = named("real/k50p.9/fused_sample-vs-deepinfer*")
    found = run_case(case, explain=accepts_all)
    assert found.verdict is Verdict.PASS, found.reason
    by_output = {one.output: one for one in found.comparisons}
    assert list(by_output) == ["tokens", "kept", "lse", "logprobs8"]
    assert by_output["kept"].differing == 0
    assert 225 <= by_output["tokens"].rate.equal < 250


def test_integer_sampler_and_verification_meet_the_recording() -> None:
    chosen = [*named("random_sampling_*"), *named("verify/*"), *named("penalty_residual/*")]
    found = run(chosen, explain=accepts_all)
    assert found.verdict is Verdict.PASS, [case.reason for case in found.cases]


class OneOff:
    """The candidate of a case, one of its outputs changed in one place."""

    describe = "one element off"

    def __init__(self, case: Case, output: str) -> None:
        self.inner, self.output = case.candidate, output

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        answered = self.inner(inputs, outputs)
        arrays = {name: array.copy() for name, array in answered.arrays.items()}
        flat = arrays[self.output].reshape(-1)
        at = int(np.flatnonzero(np.isfinite(flat))[0])
        flat[at] = ~flat[at] if flat.dtype.kind == "b" else flat[at] + flat.dtype.type(1)
        return Outputs(arrays)


@pytest.mark.parametrize("output", ["kept", "lse", "logprobs8"])
def test_a_defect_in_one_output_is_found(output: str) -> None:
    (case,) = named("real/k1/two_level-vs-deepinfer*")
    broken = replace(case, candidate=OneOff(case, output), self_rows=1)
    found = run_case(broken, explain=accepts_all)
    assert found.verdict is Verdict.DRIFT
    assert found.reason.startswith(f"{output}: ")


@pytest.mark.parametrize(("pattern", "output"), [("random_sampling_1024/next0/*", "tokens"), ("verify/*", "accept")])
def test_a_defect_in_an_integer_output_is_found(pattern: str, output: str) -> None:
    case = named(pattern)[0]
    found = run_case(replace(case, candidate=OneOff(case, output), self_rows=1))
    assert found.verdict is Verdict.DRIFT


def test_another_position_is_another_stream() -> None:
    """A generator that is off by one position agrees on few tokens: the floor is no formality."""
    (case,) = named("real/narrow/two_level-vs-deepinfer*")

    def shifted() -> dict[str, Any]:
        given = dict(case.inputs())
        return given | {"position": given["position"] + 1}

    found = run_case(replace(case, inputs=shifted), explain=accepts_all)
    assert found.verdict is Verdict.DRIFT
    assert found.comparisons[0].rate.verdict is Verdict.DRIFT


def test_a_side_given_replaces_it_everywhere() -> None:
    found = suite("sampling", backend="reference", candidate="two_level", baseline="fused_sample")
    assert len(found) == sum(len(recorded.configs(kind)) for kind in recorded.FRESH_KINDS)
    assert found[0].name == "real/engine/two_level-vs-fused_sample"
    assert set(found[0].rules) == {"tokens", "kept", "lse", "logprobs"}
    only = suite("sampling", backend="reference", baseline="two_level")
    assert only[0].name == "real/engine/fused_sample-vs-two_level"


def test_a_callable_is_compared_on_what_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suite_kernel_module.py").write_text("def mine(given):\n    return given['logits'].argmax(axis=1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    (case,) = named("real/engine/*", candidate="suite_kernel_module:mine")
    assert case.name == "real/engine/mine-vs-deepinfer-0.1.0"
    assert set(case.rules) == {"tokens"}
    assert "not compared in full: the candidate does not answer kept, logprobs" in case.notes
    found = run([case])
    assert found.exit_code == 4  # int64 tokens against int32: said, not converted
    assert "dtype" in found.cases[0].reason


def test_a_recording_without_the_case_is_not_comparable(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", **{"real.engine.tokens": np.zeros(250, np.int32)})
    chosen = named("real/[en]*", candidate=f"recorded:{tmp_path / 'other.npz'}")
    found = run(chosen)
    verdicts = {case.name: case.verdict for case in found.cases}
    assert verdicts["real/engine/other-vs-deepinfer-0.1.0"] is Verdict.DRIFT
    assert verdicts["real/narrow/other-vs-deepinfer-0.1.0"] is Verdict.EMPTY


@pytest.mark.parametrize("pattern", ["real/engine/*", "*/k1/*", "study/*", "real/k50p.9/two_level-vs-deepinfer-0.1.0"])
def test_select_keeps_order(pattern: str) -> None:
    names = [case.name for case in suite("sampling", backend="reference")]
    chosen = [case.name for case in named(pattern)]
    assert chosen == [name for name in names if name in chosen]
    assert chosen


def test_a_pattern_that_matches_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no case matches 'real/engin/"):
        named("real/engin/*")
    with pytest.raises(InputError, match="known are sampling"):
        suite("samplers")
    with pytest.raises(InputError, match="backend of two_level 'metal'"):
        suite("sampling", backend="metal")


def test_the_study_reports_what_each_change_costs() -> None:
    """Each variant agrees less with the recording than the sampler that it varies."""
    given, truth = recorded.load_inputs("real", "narrow"), recorded.load_outputs("real", "narrow")["tokens"]
    plain = study.SamplerSubject("fused_sample", "reference")(given, ("tokens",)).evidence
    equal = [
        int((tokens == truth).sum())
        for tokens in (plain.tokens, study.divided(given, plain), study.clamped(given, plain))
    ]
    assert equal[0] > equal[1] > equal[2] > 200
    assert (plain.record.total >= ONE).any()


def test_a_study_case_reports_its_rate() -> None:
    (case,) = named("study/narrow/multiply_shift*")
    found = run_case(case)
    assert found.verdict is Verdict.PASS
    assert 150 < found.comparisons[0].rate.equal < 200
    assert any("finding" in note for note in found.notes)


def test_an_unclamped_draw_is_the_sampler_s_own() -> None:
    given = recorded.load_inputs("real", "k50p.9")
    rows = {name: value[:40] if isinstance(value, np.ndarray) else value for name, value in given.items()}
    plain = study.SamplerSubject("fused_sample", "reference")(rows, ("tokens",)).evidence
    np.testing.assert_array_equal(study._draw(plain.record.weights, plain.record, 2**32 - 1), plain.tokens)


def test_variants_are_known_by_name() -> None:
    with pytest.raises(InputError, match="divide, clamp"):
        study.Variant("multiply", "reference")

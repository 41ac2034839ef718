"""The predicted interval against enumeration, and predictions from what is known of the sides."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from deepinfer.sampling import SamplerInputs, sample
from harness.case import Outputs
from harness.subjects import callable_subject
from repro.drift.chance import possible_draws, settled
from repro.drift.predict import Expectation, predicted
from repro.drift.sides import model_of, side_of
from repro.drift.state import facts_of


def expected(differ: list[float], together: list[int] | None = None) -> Expectation:
    labels = np.arange(len(differ)) if together is None else np.asarray(together)
    return Expectation(np.asarray(differ), labels, ())


def enumerated(differ: list[float]) -> Any:
    """P(number of rows that differ), by summing over all 2^n outcomes."""
    distribution = np.zeros(len(differ) + 1)
    for outcome in product((0, 1), repeat=len(differ)):
        distribution[sum(outcome)] += np.prod([p if one else 1 - p for p, one in zip(differ, outcome, strict=True)])
    return distribution


def test_the_interval_is_the_poisson_binomials() -> None:
    differ = [0.0, 0.5, 0.9, 0.02, 0.3, 0.3, 0.1, 0.6]
    below = np.cumsum(enumerated(differ))
    fewest, most = int(np.searchsorted(below, 0.005)), int(np.searchsorted(below, 0.995))
    for equal in range(9):
        found = predicted(expected(differ), equal)
        assert found.rate == pytest.approx(1 - sum(differ) / 8)
        assert found.interval == ((8 - most) / 8, (8 - fewest) / 8)
        assert found.inside == (fewest <= 8 - equal <= most)


def test_rows_that_err_together_widen_the_interval() -> None:
    differ = [0.3] * 10 + [0.0] * 10
    alone, together = predicted(expected(differ), 17), predicted(expected(differ, [0] * 20), 17)
    assert alone.rate == together.rate == pytest.approx(0.85)
    assert alone.interval == (0.65, 1.0)
    assert together.interval == (0.5, 1.0)
    mixed = predicted(expected([0.001, 0.4, 0.4], [0, 1, 1]), 3)
    assert mixed.interval == (1 / 3, 1.0)


def test_certain_rows_leave_no_interval() -> None:
    found = predicted(expected([0.0, 1.0, 0.0, 0.0]), 3)
    assert (found.rate, found.interval, found.inside) == (0.75, (0.75, 0.75), True)
    assert not predicted(expected([0.0, 1.0, 0.0, 0.0]), 4).inside


def test_agreement_better_than_predicted_is_flagged_too() -> None:
    assert not predicted(expected([0.5] * 40), 40).inside
    assert predicted(expected([0.5] * 40), 20).inside


def test_two_known_totals_predict_every_row(narrow: Any) -> None:
    """The other side's record differs in its totals alone: its tokens are then the flipped ones, and all is certain."""
    total = narrow.result.record.total
    across = np.where(total < 2**31, 2**31, 2**31 - 1).astype(np.uint64)
    tokens = narrow.flipped()
    attribution, evidence = narrow.told(tokens, evidence=narrow.recorded(total=across))
    assert attribution.predicted.rate == pytest.approx((tokens == narrow.tokens).mean())
    assert attribution.predicted.interval[0] == attribution.predicted.interval[1]
    assert attribution.predicted.inside
    assert sorted(set(np.round(evidence["rows"]["predicted"], 6))) == [0, 1]


def facts(rows: Any, side: Any) -> Any:
    candidate = Outputs({"tokens": rows.tokens}, evidence=rows.result)
    model = model_of(rows.inputs, Outputs({}), candidate, "reference")
    assert model is not None
    subject = callable_subject(lambda given: given["position"], "a kernel")
    return facts_of(model, side_of("baseline", subject, rows.inputs, side, rows.tokens, model))


def test_chances_sum_to_one_and_settled_rows_are_certain(narrow: Any) -> None:
    total = narrow.result.record.total.copy()
    total[::2] = np.where(total[::2] < 2**31, 2**31, 2**31 - 1)
    one = facts(narrow, Outputs({"tokens": narrow.tokens}, evidence=narrow.recorded(total=total)))
    sure = settled(one)
    assert not sure[::2].any()
    assert sure[1::2].mean() > 0.9
    for row in range(60):
        ways = possible_draws(one, one.own[row], one.own[row].kept)
        assert sum(way.chance for way in ways) == pytest.approx(1)
        stays = sum(way.chance for way in ways if way.token == narrow.tokens[row])
        if sure[row]:
            assert stays == pytest.approx(1, abs=1e-9)


def test_a_side_of_the_same_arithmetic_is_certain_of_every_row(narrow: Any) -> None:
    """exp, log and sums without noise leave one way for each row: the model's own."""
    one = facts(narrow, Outputs({"tokens": narrow.tokens}, evidence=narrow.result))
    for row in range(60):
        ways = possible_draws(one, one.own[row], one.own[row].kept)
        assert [(way.token, way.total, way.chance) for way in ways] == [
            (int(narrow.tokens[row]), int(narrow.result.record.total[row]), 1.0)
        ]


def test_a_noisy_side_is_predicted_by_its_noise(make_rows: Any) -> None:
    """The native sampler against the twin, told apart by its tokens alone: fewer rows differ than for a stranger."""
    rows = make_rows(np.random.default_rng(51).normal(size=(250, 512)) * 2, 52, top_k=40)
    other = sample("fused_sample", SamplerInputs(**rows.inputs), backend="native")
    stranger, _ = rows.told(other.tokens)
    known, _ = rows.told(other.tokens, evidence=other)
    assert stranger.unexplained == known.unexplained == 0
    assert known.predicted.inside
    assert known.predicted.rate == pytest.approx((other.tokens == rows.tokens).mean(), abs=0.01)
    assert stranger.predicted.rate < known.predicted.rate
    assert stranger.predicted.interval[0] < stranger.predicted.interval[1] < 1

"""Rows that come in clusters: wider bounds, fixed resamples, and few false passes where the rate is the floor."""

from __future__ import annotations

import numpy as np
import pytest

from deepinfer.errors import InputError
from harness import agreement as agr
from harness.clusters import clustered_rate
from harness.result import Verdict


def test_clusters_widen_the_bounds(generator: np.random.Generator) -> None:
    clusters = np.repeat(np.arange(64), 8)
    whole = np.repeat(generator.random(64) < 0.9, 8)
    mixed = generator.permutation(whole)
    independent = agr.rate_of(int(whole.sum()), whole.size)
    clustered = clustered_rate(whole, clusters)
    assert clustered.lower < independent.lower - 0.02
    assert clustered_rate(mixed, clusters).lower <= independent.lower
    assert clustered_rate(mixed, clusters).lower > clustered.lower
    assert clustered_rate(whole, clusters) == clustered


def test_clusters_without_a_mismatch_count_as_one_row_each() -> None:
    found = clustered_rate(np.ones(800, np.bool_), np.repeat(np.arange(20), 40), 0.9)
    assert found.lower == pytest.approx(0.05 ** (1 / 20))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "95 % over 20 clusters 83.2-100.0; one-sided lower 86.1" in agr.sentence(found)


def test_clusters_decide_a_verdict() -> None:
    clusters = np.repeat(np.arange(100), 5)
    rows = np.ones(500, np.bool_)
    rows[:50] = False
    assert clustered_rate(rows, clusters, 0.8).verdict is Verdict.PASS
    assert clustered_rate(rows, clusters, 0.9).verdict is Verdict.INCONCLUSIVE
    assert clustered_rate(rows, clusters, 0.97).verdict is Verdict.DRIFT
    assert clustered_rate(rows, clusters, 1.0).verdict is Verdict.DRIFT


def test_a_drift_is_a_chance_below_five_percent(generator: np.random.Generator) -> None:
    clusters = np.repeat(np.arange(40), 6)
    for share in (0.7, 0.8, 0.85, 0.9, 0.95):
        rows = np.repeat(generator.random(40) < share, 6) ^ (generator.random(240) < 0.05)
        found = clustered_rate(rows, clusters, 0.9)
        assert found.p_drift is not None
        assert (found.verdict is Verdict.DRIFT) == (found.p_drift < agr.ALPHA)


def test_a_false_pass_is_rare_where_the_rate_is_the_floor(generator: np.random.Generator) -> None:
    """Correlation .3 within 24 clusters of 8. The bounds of independent rows, the control, pass far too often."""
    spread, labels, runs = 1 / 0.3 - 1, np.repeat(np.arange(24), 8), 100
    passed = naive = 0
    for _ in range(runs):
        share = generator.beta(0.9 * spread, 0.1 * spread, 24)
        rows = generator.random(labels.size) < np.repeat(share, 8)
        passed += clustered_rate(rows, labels, 0.9).verdict is Verdict.PASS
        naive += agr.judge(int(rows.sum()), rows.size, 0.9) is Verdict.PASS
    assert passed / runs <= 0.1
    assert naive / runs > 0.15


@pytest.mark.parametrize("labels", [np.zeros(4), np.arange(3)])
def test_one_cluster_or_a_label_too_few_is_refused(labels: np.ndarray) -> None:
    with pytest.raises(InputError, match="at least two clusters"):
        clustered_rate(np.ones(4, np.bool_), labels)

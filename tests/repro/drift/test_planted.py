"""Each cause planted on its own is found on every row, and what lies out of its bound is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepinfer.sampling.spec import ONE


def counts(attribution: Any) -> dict[str, int]:
    return {**attribution.causes, "unexplained": attribution.unexplained}


def test_the_other_side_of_the_step_is_found_in_every_row(narrow: Any) -> None:
    tokens = narrow.flipped()
    differing = int((tokens != narrow.tokens).sum())
    assert differing >= 20
    attribution, _ = narrow.told(tokens)
    assert attribution.causes == {"rejection_limit": differing}
    assert attribution.residual.equal == len(tokens)
    for row in attribution.rows:
        assert row["margin"] <= row["bound"]
        (found,) = row["counterfactuals"]
        assert found["token"] == row["baseline_token"] == tokens[row["row"]]
        assert found["interval"][0] <= found["residue"] < found["interval"][1]


def test_a_flip_is_refuted_where_both_totals_lie_on_one_side(narrow: Any) -> None:
    tokens, total = narrow.flipped(), narrow.result.record.total
    differing = int((tokens != narrow.tokens).sum())
    assert counts(narrow.told(tokens, evidence=narrow.result)[0]) == {"unexplained": differing}
    across = np.where(total < ONE, ONE, ONE - 1).astype(np.uint64)
    attribution, _ = narrow.told(tokens, evidence=narrow.recorded(total=across))
    assert attribution.causes == {"rejection_limit": differing}


def test_a_flip_is_not_admissible_far_from_the_step(narrow: Any) -> None:
    """Weights that sum to 0.999: the other multiple of the total would give every token back."""
    weights = narrow.result.record.weights
    smaller = (weights - weights // 1000).astype(np.uint32)
    total = smaller.sum(axis=1, dtype=np.uint64)
    assert (ONE - total.astype(np.int64) > 10**6).all()
    moved = type(narrow)(narrow.inputs, narrow.recorded(weights=smaller, total=total))
    moved.result.tokens[:] = [moved.draw(row, smaller[row]) for row in range(len(smaller))]
    tokens = moved.flipped()
    differing = int((tokens != moved.tokens).sum())
    assert differing >= 20
    assert counts(moved.told(tokens)[0]) == {"unexplained": differing}


@pytest.fixture(scope="module")
def cut(make_rows: Any) -> tuple[Any, Any]:
    """250 steep rows cut by top-p, whose last kept column weighs less than the bound; and each row's column order."""
    random = np.random.default_rng(9)
    steep = random.permuted(np.tile(-0.15 * np.arange(128), (250, 1)), axis=1)
    logits = (steep + random.normal(size=steep.shape) / 100).astype(np.float32)
    return make_rows(logits, 10, top_p=0.99998), np.argsort(-logits, axis=1, kind="stable")


def shorter(rows: Any, order: Any, by: int) -> tuple[Any, Any]:
    """Masks that keep `by` columns less, and the tokens drawn from them."""
    masks = np.zeros(rows.kept().shape, np.bool_)
    for row, length in enumerate(rows.kept().sum(axis=1).tolist()):
        masks[row, order[row, : length - by]] = True
    tokens = [rows.draw(row, rows.renormalised(row, masks[row])) for row in range(len(masks))]
    return masks, np.asarray(tokens)


def test_a_kept_set_within_reach_is_a_threshold_crossing(cut: tuple[Any, Any]) -> None:
    rows, order = cut
    masks, tokens = shorter(rows, order, 1)
    differing = int((tokens != rows.tokens).sum())
    attribution, evidence = rows.told(tokens, kept=masks)
    assert evidence["rows"]["kept_cause"] == ["threshold_crossing"] * len(tokens)
    assert differing >= 20
    assert attribution.causes == {"threshold_crossing": differing}
    for row in attribution.rows:
        (step,) = row["counterfactuals"][0]["steps"]
        assert 0 < step["margin"] <= step["bound"]


def test_crossings_told_by_their_counts_alone(cut: tuple[Any, Any]) -> None:
    rows, order = cut
    masks, tokens = shorter(rows, order, 1)
    attribution, evidence = rows.told(tokens, kept_count=masks.sum(axis=1))
    assert set(evidence["rows"]["kept_cause"]) == {"threshold_crossing"}
    assert set(attribution.causes) == {"threshold_crossing"}
    assert attribution.unexplained == 0


def test_a_kept_set_out_of_reach_stays_unexplained(cut: tuple[Any, Any]) -> None:
    rows, order = cut
    masks, tokens = shorter(rows, order, 20)
    differing = int((tokens != rows.tokens).sum())
    attribution, evidence = rows.told(tokens, kept=masks)
    assert set(evidence["rows"]["kept_cause"]) == {"unexplained"}
    assert counts(attribution) == {"unexplained": differing}


@pytest.fixture(scope="module")
def tied(make_rows: Any) -> tuple[Any, Any]:
    """200 rows of 256 logits on a coarse grid, cut at 20 columns among ties; and masks of the last ties instead."""
    logits = np.round(np.random.default_rng(7).normal(size=(200, 256)) * 2) / 2
    rows = make_rows(logits, 8, top_k=20)
    masks = rows.kept().copy()
    for row, kept in enumerate(masks):
        ties = np.flatnonzero(logits[row] == logits[row][kept].min())
        chosen = int(kept[ties].sum())
        kept[ties] = False
        kept[ties[-chosen:]] = True
    return rows, masks


@pytest.mark.parametrize("told", [True, False])
def test_the_last_ties_instead_of_the_first(tied: tuple[Any, Any], told: bool) -> None:
    rows, masks = tied
    tokens = []
    for row, kept in enumerate(masks):
        weights = rows.weights(row).copy()
        moved = kept & ~rows.kept()[row]
        weights[moved] = weights[rows.kept()[row]].min()
        weights[~kept] = 0
        tokens.append(rows.draw(row, weights))
    differing = int((np.asarray(tokens) != rows.tokens).sum())
    assert differing >= 20
    attribution, evidence = rows.told(tokens, **({"kept": masks} if told else {}))
    assert attribution.unexplained == 0
    assert attribution.causes["tie_breaking"] >= (1 if told else 0.95) * differing  # untold, a flip may give it too
    if told:
        moved_rows = (masks != rows.kept()).any(axis=1)
        assert [cause == "tie_breaking" for cause in evidence["rows"]["kept_cause"]] == moved_rows.tolist()


def test_columns_that_are_no_ties_are_no_tie_breaking(tied: tuple[Any, Any]) -> None:
    rows, _ = tied
    masks = rows.kept().copy()
    logits = rows.inputs["logits"]
    for row, kept in enumerate(masks):
        kept[logits[row].argmax()] = False
        kept[logits[row].argmin()] = True
    _, evidence = rows.told(rows.tokens, kept=masks)
    assert set(evidence["rows"]["kept_cause"]) == {"unexplained"}


def beside(rows: Any, bound: int) -> dict[int, int]:
    """Rows whose residue lies within `bound` of an edge -> the token on the edge's other side."""
    found = {}
    for row in range(len(rows.tokens)):
        edges, order = rows.edges(row)
        residue = int(rows.result.record.residue[row])
        place = int(np.searchsorted(edges, residue, side="right"))
        if int(edges[place]) - residue <= bound and place + 1 < len(edges):
            found[row] = int(order[place + 1])
        elif place and residue - int(edges[place - 1]) < bound:
            found[row] = int(order[place - 1])
    return found


def test_the_neighbour_of_a_residue_beside_an_edge(flat: Any) -> None:
    found = beside(flat, 5000)
    assert len(found) >= 5
    tokens = flat.tokens.copy()
    for row, token in found.items():
        tokens[row] = token
    attribution, _ = flat.told(tokens)
    assert attribution.causes == {"cdf_boundary": len(found)}
    for row in attribution.rows:
        (step,) = row["counterfactuals"][0]["steps"]
        assert step["margin"] <= 5000 < step["bound"]


def test_the_neighbour_of_a_residue_inside_its_interval_is_not_in_reach(flat: Any) -> None:
    near = beside(flat, 10**5)
    tokens = flat.tokens.copy()
    rows = [row for row in range(len(tokens)) if row not in near][:100]
    for row in rows:
        order = flat.edges(row)[1]
        place = int(np.flatnonzero(order == tokens[row])[0])
        tokens[row] = order[place + 1 if place + 1 < len(order) else place - 1]
    assert counts(flat.told(tokens)[0]) == {"unexplained": len(rows)}


def test_tokens_that_have_nothing_to_do_with_each_other_stay_unexplained(narrow: Any) -> None:
    """The gate on the probes themselves: at least 85 of 100 unrelated differences must not find an explanation."""
    tokens = [narrow.draw(row, narrow.weights(row), seed=987654321, subsequence=123457) for row in range(200)]
    differing = int((np.asarray(tokens) != narrow.tokens).sum())
    attribution, _ = narrow.told(tokens)
    assert differing >= 150
    assert attribution.unexplained >= 0.85 * differing
    assert 0 < attribution.false_match["total"] <= 0.15
    measured = 1 - attribution.unexplained / differing
    assert attribution.false_match["total"] == pytest.approx(measured, abs=0.08)

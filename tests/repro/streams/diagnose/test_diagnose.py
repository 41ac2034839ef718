"""Planted mix-ups: the assumption that broke comes first, and nothing else is called a cause."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepinfer.errors import InputError
from repro.cli import main
from repro.streams.diagnose import HYPOTHESES, Claim, Hypothesis, diagnose
from repro.streams.diagnose.search import token_probabilities

ROWS, COLUMNS = 32, 192
RANDOM = np.random.default_rng(11)
LOGITS = (RANDOM.normal(size=(ROWS, COLUMNS)) * 2).astype(np.float32)
SEEDS, POSITIONS = RANDOM.integers(0, 2**40, ROWS).tolist(), RANDOM.integers(1, 9999, ROWS).tolist()
HASHED = {"seed": SEEDS, "position": POSITIONS}
V2 = Claim("vllm_v2", "0.33.0", LOGITS, {}, {**HASHED, "role": "target", "precision": "float32"})
FILTERED = replace(V2, parameters={"temperature": 0.7, "top_k": 20, "top_p": 0.9})
SGLANG = Claim("sglang", "0.5.23", LOGITS, {}, {**HASHED, "path": "id"})
LLAMA = Claim("llama_cpp", "0.3.36", LOGITS, {"top_k": 40}, {"seed": 7, "draws": 5, "chain": "temperature last"})
HF = Claim("huggingface_cpu", "5.24.0", LOGITS, {}, {"seed": 1234, "start": 0})


def drawn(claim: Claim) -> list[int]:
    return claim.explains([0] * len(claim.rows))[1]


PLANTS: dict[str, tuple[Claim, Callable[[Claim], Claim]]] = {
    "role draft": (V2, lambda c: c.with_facts(role="draft")),
    "precision float64": (V2, lambda c: c.with_facts(precision="float64")),
    "engine vllm_v2_philox 0.22.0": (V2, lambda c: replace(c, engine="vllm_v2_philox", version="0.22.0")),
    "the seed of the row before": (V2, lambda c: c.with_facts(seed=SEEDS[-1:] + SEEDS[:-1])),
    "the seed of row 0 for all rows": (FILTERED, lambda c: c.with_facts(seed=SEEDS[:1] * ROWS)),
    "position -1": (FILTERED, lambda c: c.with_facts(position=[p - 1 for p in POSITIONS])),
    "top_p not applied": (FILTERED, lambda c: c.with_parameters(top_p=1.0)),
    "temperature not applied": (replace(V2, parameters={"temperature": 0.5}), lambda c: replace(c, parameters={})),
    "path rank": (SGLANG, lambda c: c.with_facts(path="rank")),
    "engine sglang": (V2, lambda c: replace(SGLANG, rows=c.rows)),
    "draws +1": (LLAMA.with_facts(seed=SEEDS[0] & 0xFFFF), lambda c: c.with_facts(draws=6)),
    "each row alone in its batch": (HF, lambda c: replace(c, alone=True)),
    "2 more rows in front": (HF, lambda c: replace(c, skip=2)),
}


@pytest.mark.parametrize("words", PLANTS)
def test_a_planted_change_comes_first(words: str) -> None:
    claim, change = PLANTS[words]
    found = diagnose(claim, drawn(change(claim)), pairs=False)
    assert not found.claim.whole
    assert found.singles[0].whole
    assert any(words in name for name in found.singles[0].changes)
    assert len(found.causes) <= 1


def test_two_changes_at_once_are_found_as_a_pair() -> None:
    truth = V2.with_facts(role="draft", seed=SEEDS[1:] + SEEDS[:1])
    few = tuple(h for h in HYPOTHESES if h.name in ("keying, role or precision", "seed", "step"))
    found = diagnose(V2, drawn(truth), few)
    assert not any(finding.whole for finding in found.singles)
    assert found.causes[0].changes == ("role draft and the seed of the row after",)


def test_a_true_claim_needs_no_cause() -> None:
    found = diagnose(FILTERED, drawn(FILTERED))
    assert found.claim.whole
    assert found.causes == found.singles == found.pairs == ()


def test_independent_draws_have_no_cause(generator: np.random.Generator) -> None:
    """The control: what no change explains is not explained."""
    share = np.exp(LOGITS.astype(np.float64))
    share /= share.sum(axis=1, keepdims=True)
    tokens = [int(generator.choice(COLUMNS, p=row)) for row in share]
    found = diagnose(V2, tokens, pairs=False)
    assert not found.causes
    assert all(finding.explained < ROWS // 2 for finding in found.singles)


def test_changes_that_give_the_same_tokens_are_one_finding() -> None:
    claim = V2.with_facts(seed=[3] * ROWS, position=[9] * ROWS)
    found = diagnose(claim, drawn(claim.with_facts(position=[10] * ROWS)), pairs=False)
    assert found.singles[0].changes == ("position +1",)
    double = Hypothesis("again", lambda c: iter([("the very same", c.with_facts(position=[10] * ROWS))]))
    both = diagnose(claim, drawn(claim.with_facts(position=[10] * ROWS)), (*HYPOTHESES, double), pairs=False)
    assert both.singles[0].changes == ("position +1", "the very same")


def test_a_few_rows_settle_nothing() -> None:
    """False match: the product of the probabilities of the tokens that speak for the change, times what was tried."""
    part = V2.part([0, 1])
    found = diagnose(part, drawn(part.with_facts(role="draft")), pairs=False)
    assert found.singles[0].whole
    assert not found.singles[0].settled
    assert not found.causes


def test_false_matches_are_bounded_by_what_they_say(generator: np.random.Generator) -> None:
    """Wrong changes explain a token as often as its probability says."""
    tokens = drawn(V2)
    chance = token_probabilities(V2, tokens)
    hits = [
        np.mean(V2.with_facts(seed=generator.integers(0, 2**40, ROWS).tolist()).explains(tokens)[0]) for _ in range(60)
    ]
    assert abs(np.mean(hits) - chance.mean()) < 5 * np.sqrt(chance.mean() / (60 * ROWS))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [([0] * 3, "3 tokens for 32 rows"), ([0] * 31 + [COLUMNS], "token of row 31 is 192: the rows have 192 columns")],
)
def test_wrong_tokens(tokens: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        diagnose(V2, tokens)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logits, tokens = tmp_path / "logits.npz", tmp_path / "tokens.json"
    np.savez(logits, logits=LOGITS, seeds=np.asarray(SEEDS), positions=np.asarray(POSITIONS))
    arguments = ["diagnose", str(logits), str(tokens), "--engine", "vllm_v2", "--version", "0.33.0", "--no-pairs"]
    arguments += ["--fact", "role=target", "--fact", "precision=float32"]
    tokens.write_text(json.dumps(drawn(V2)))
    assert main(arguments) == 0
    assert "32 of 32 tokens explained" in capsys.readouterr().out
    tokens.write_text(json.dumps(drawn(V2.with_facts(role="draft"))))
    assert main(arguments) == 1
    assert "cause: role draft" in capsys.readouterr().out
    tokens.write_text(json.dumps([1] * ROWS))
    assert main(arguments) == 3
    assert "no cause" in capsys.readouterr().out
    for text, message in (("[1, 2]", "2 tokens for 32 rows"), ("{", "cannot be read as json"), ("[1.5]", "no list of")):
        tokens.write_text(text)
        assert main(arguments) == 2
        assert message in capsys.readouterr().err

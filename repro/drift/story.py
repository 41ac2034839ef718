"""One row in words: what the terminal and the report say about a draw. A function of the row's JSON values alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.explanation import UNEXPLAINED

ONE = 2**31
PHRASES = {
    "rejection_limit": "the rejection limit",
    "threshold_crossing": "a threshold crossing",
    "tie_breaking": "another choice among ties",
    "cdf_boundary": "a residue beside an edge of the CDF",
    "rng_stream": "another random stream",
    "draw_rule": "another rule of drawing",
}
"""Cause -> how a title names it."""
TAKEN = {
    "rejection_limit": "side of the step",
    "threshold_crossing": "kept set",
    "tie_breaking": "choice among ties",
    "cdf_boundary": "edges of the CDF",
    "rng_stream": "random stream",
    "draw_rule": "rule of drawing",
}
"""Cause -> what of the other side the counterfactual takes."""
RESIDUES = {"modulo_reject": "word mod total", "multiply_shift": "word x total / 2^32"}


@dataclass(frozen=True)
class RowStory:
    """A row's title (one line), and its arithmetic as (label, text) pairs in the order in which it is computed."""

    row: int
    title: str
    facts: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The facts, one a line, labels padded to one width."""
        width = max((len(label) for label, _ in self.facts), default=0)
        return "\n".join(f"{label:<{width}}  {text}".rstrip() for label, text in self.facts)


def table_row(table: Mapping[str, Sequence[Any]], row: int) -> dict[str, Any]:
    """One row of evidence["rows"] as a mapping, for rows that do not differ too. Raises IndexError out of range."""
    return {name: values[row] for name, values in table.items()}


def story(row: Mapping[str, Any], about: Mapping[str, Any]) -> RowStory:
    """The story of `row`: an entry of Attribution.rows, or a table_row; `about` is evidence["about"]."""
    facts = _draw(row, about)
    for entry in row.get("counterfactuals", ()):
        facts += _counterfactual(row, entry, str(about["draw"]))
    if row["predicted"] is not None:
        facts.append(("expected", f"the sides' tokens differ with probability {row['predicted']:.2g}"))
    return RowStory(int(row["row"]), _title(row), tuple(facts))


def arithmetic(row: Mapping[str, Any], about: Mapping[str, Any]) -> list[str]:
    """The story as lines of text."""
    told = story(row, about)
    return [f"row {told.row}: {told.title}", *told.text.splitlines()]


def phrase(cause: str) -> str:
    """A cause, or several joined by `+`, in words."""
    return " and ".join(PHRASES.get(part, part) for part in cause.split("+"))


def _title(row: Mapping[str, Any]) -> str:
    if not row["cause"]:
        return f"token {row['candidate_token']} on both sides"
    why = UNEXPLAINED if row["cause"] == UNEXPLAINED else phrase(row["cause"])
    return f"baseline {row['baseline_token']}, candidate {row['candidate_token']}: {why}"


def _draw(row: Mapping[str, Any], about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The draw of the side whose weights are known."""
    model = about["model"]
    facts = [
        ("weights of", "our own model of the row" if model == "reference" else f"the {model}"),
        ("kept", f"{row['kept_count']:,} of {about['columns']:,} columns"),
    ]
    if row["kept_cause"]:
        facts.append(("", f"the other side keeps another set: {phrase(row['kept_cause'])}"))
    if not row["word_count"]:
        return [*facts, ("token", f"{row['model_token']}, without a draw")]
    facts.append(("total", total_text(row["model_total"])))
    for side in ("baseline", "candidate"):
        known = row[f"{side}_total"]
        if known is not None and side != model:
            facts.append(("", f"the {side}'s is {total_text(known)}"))
    facts.append(("stream", f"seed {row['seed']}, subsequence {row['subsequence']}"))
    return facts + _words(row, row["model_total"], str(about["draw"])) + [_token(row, row["model_token"])]


def _words(draw: Mapping[str, Any], total: int, rule: str) -> list[tuple[str, str]]:
    """The limit, the words in order with what became of each, and the residue."""
    limit, words = draw["limit"], draw["words"]
    rejects = rule == "modulo_reject"
    facts = [("limit", f"{limit:,} = {limit // total} x total")] if rejects and limit < 2**32 else []
    for index, word in enumerate(words):
        taken = index == len(words) - 1 or not rejects
        facts.append((f"word {index}", f"{word:,} {'accepted' if taken else f'rejected: not below {limit:,}'}"))
    return [*facts, ("residue", f"{draw['residue']:,} = {RESIDUES.get(rule, '64 bits x total / 2^64')}")]


def _token(draw: Mapping[str, Any], token: int) -> tuple[str, str]:
    low, high = draw["interval"]
    return "token", f"{token}, drawn by {low:,} <= residue < {high:,}"


def _counterfactual(row: Mapping[str, Any], entry: Mapping[str, Any], rule: str) -> list[tuple[str, str]]:
    side = entry["side"]
    if entry["cause"] is None:
        return [("counterfactual", f"none that is admissible gives the {side}'s token {entry['token']}")]
    facts: list[tuple[str, str]] = []
    for step in entry["steps"]:
        text = f"take the {side}'s {TAKEN.get(step['cause'], step['cause'])}: {step['substituted']}"
        if step["bound"]:
            text += f" ({step['margin']:,} units away, admissible up to {step['bound']:,})"
        facts.append(("" if facts else "counterfactual", text))
        rule = step["substituted"].split()[0] if step["cause"] == "draw_rule" else rule
    if entry["total"] != row["model_total"]:
        facts.append(("total", total_text(entry["total"])))
    facts += _words(entry, entry["total"], rule)
    if "cdf_boundary" in entry["cause"]:
        facts.append(("token", f"{entry['token']}, with its interval within reach of the residue: the {side}'s"))
    else:
        label, text = _token(entry, entry["token"])
        facts.append((label, f"{text}: the {side}'s"))
    if entry["also"]:
        facts.append(("", f"given by {', '.join(phrase(cause) for cause in entry['also'])} as well"))
    return facts


def total_text(total: int) -> str:
    """`2,147,483,600 = 2^31 - 48`, where that is short."""
    off = total - ONE
    if abs(off) >= ONE // 2:
        return f"{total:,}"
    return f"{total:,} = 2^31" if not off else f"{total:,} = 2^31 {'+' if off > 0 else '-'} {abs(off):,}"

"""One row in words: what the terminal and the report say about a draw. A function of the row's JSON values alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.explanation import UNEXPLAINED

ONE = 2**31
PHRASES = {
    "rejection_limit": "the rejection limit",
    "threshold_crossing": "another kept set",
    "tie_breaking": "another choice among ties",
    "cdf_boundary": "a residue beside an edge",
    "rng_stream": "another random stream",
    "draw_rule": "another rule of drawing",
}


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
    facts: list[tuple[str, str]] = []
    facts += _draw(row, about)
    for entry in row.get("counterfactuals", ()):
        facts += _counterfactual(row, entry, str(about["model"]))
    facts.append(("tokens", f"baseline {row['baseline_token']}, candidate {row['candidate_token']}"))
    if row["predicted"] is not None:
        facts.append(("expected", f"the tokens differ with probability {row['predicted']:.2g}"))
    return RowStory(int(row["row"]), _title(row), tuple(facts))


def arithmetic(row: Mapping[str, Any], about: Mapping[str, Any]) -> list[str]:
    """The story as lines of text."""
    told = story(row, about)
    return [f"row {told.row}: {told.title}", *told.text.splitlines()]


def phrase(cause: str) -> str:
    """A cause, or several joined by `+`, in words."""
    return " and ".join(PHRASES.get(part, part) for part in cause.split("+"))


def _title(row: Mapping[str, Any]) -> str:
    tokens = f"baseline {row['baseline_token']}, candidate {row['candidate_token']}"
    if not row["cause"]:
        return f"the same token, {row['candidate_token']}"
    if row["cause"] == UNEXPLAINED:
        return f"{tokens}: unexplained"
    return f"{tokens}: {phrase(row['cause'])}"


def _draw(row: Mapping[str, Any], about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The draw of the side whose weights are known."""
    owner = {"reference": "our model of the row"}.get(about["model"], f"the {about['model']}")
    facts = [("weights of", owner), ("kept", f"{row['kept_count']:,} of {about['columns']:,} columns")]
    if row["kept_cause"]:
        facts.append(("", f"the other side keeps another set: {row['kept_cause'].replace('_', ' ')}"))
    if not row["word_count"]:
        return [*facts, ("draw", "none: the token follows without one")]
    facts.append(("total", total_text(row["model_total"])))
    for side in ("baseline", "candidate"):
        known = row[f"{side}_total"]
        if known is not None and side != about["model"]:
            facts.append(("", f"the {side}'s: {total_text(known)}"))
    facts.append(("stream", f"seed {row['seed']}, subsequence {row['subsequence']}"))
    return facts + _words(row["words"], row["limit"], row["residue"], row["model_total"], str(about["rule"]))


def _words(words: Sequence[int], limit: int, residue: int, total: int, rule: str) -> list[tuple[str, str]]:
    """The words in order, each with what became of it, and the residue."""
    facts = []
    if rule == "modulo_reject":
        times = limit // total if total else 0
        facts.append(("limit", f"{limit:,} = {times} x total"))
    for index, word in enumerate(words):
        last = index == len(words) - 1
        fate = "accepted" if last else f"rejected: not below {limit:,}"
        facts.append((f"word {index}", f"{word:,} {fate if rule == 'modulo_reject' else 'taken'}"))
    how = {"modulo_reject": "word mod total", "multiply_shift": "word x total / 2^32"}.get(
        rule, "64 bits x total / 2^64"
    )
    return [*facts, ("residue", f"{residue:,} = {how}")]


def _counterfactual(row: Mapping[str, Any], entry: Mapping[str, Any], owner: str) -> list[tuple[str, str]]:
    side = entry["side"]
    if entry["cause"] is None:
        return [("unexplained", f"no admissible change gives the {side}'s token {entry['token']}")]
    facts = [(f"if the {side}'s", _step(step)) for step in entry["steps"]]
    if entry["kept_count"] != row["kept_count"]:
        facts.append(("kept", f"{entry['kept_count']:,} columns"))
    if entry["total"] != row["model_total"]:
        facts.append(("total", total_text(entry["total"])))
    if entry["words"] != row["words"]:
        for index, word in enumerate(entry["words"]):
            last = index == len(entry["words"]) - 1
            facts.append((f"word {index}", f"{word:,} {'accepted' if last else 'rejected'}"))
    facts.append(("residue", f"{entry['residue']:,}"))
    if entry["also"]:
        facts.append(("", f"also given by {', '.join(phrase(cause) for cause in entry['also'])}"))
    return [*facts, ("then", f"token {entry['token']}: the {side}'s")]


def _step(step: Mapping[str, Any]) -> str:
    text = f"{phrase(step['cause'])}: {step['substituted']}"
    if step["bound"]:
        text += f" ({step['margin']:,} units away, admissible up to {step['bound']:,})"
    return text


def total_text(total: int) -> str:
    """`2,147,483,600 = 2^31 - 48`, where that is short."""
    off = total - ONE
    if abs(off) >= ONE // 2:
        return f"{total:,}"
    return f"{total:,} = 2^31" if not off else f"{total:,} = 2^31 {'+' if off > 0 else '-'} {abs(off):,}"

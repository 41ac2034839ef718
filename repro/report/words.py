"""The words of a report: fixed sentences, numbers, names of causes, commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from harness.result import Difference, RunResult

TEXTS = {
    "causes": "A cause is named only where changing that one thing gives the other side's token back.",
    "agreement": "The line is the 95 % Wilson interval of what was measured; the floor is what the exact one-sided "
    "lower bound must reach; the band is the 99 % interval predicted from the rows alone. "
    "Cases that pass with every row equal are in the table only.",
    "step": "A word is drawn and rejected when it is at or above the limit, the largest multiple of the total below "
    "2³². The probabilities of a row sum to one, so its total lies beside 2³¹, and there the limit halves: from "
    "twice the total to once. One unit more and half of all words are rejected, the next word is taken, and the token "
    "is another, though the distributions are the same.",
    "totals": "Each row's total on either side, joined by a line. Where the line crosses the step, the sides reject "
    "different words.",
    "draw": "Each strip is the distribution of one side along the 32-bit words, as often as the limit lets it in; the "
    "rest is rejected. A ring is the word that the side accepts, a cross one that it rejects. Below, the residue as a "
    "level: the token is the column whose step of the cumulative distribution it meets.",
    "false_match": "Share of rows that each probe would explain if the tokens were independent draws:",
}
"""The sentences of a report that do not depend on the run."""
SIGN = {"pass": "✓", "drift": "✗", "inconclusive": "?", "not_comparable": "≠", "empty": "∅", "error": "!"}
"""One sign a verdict, so that no reader depends on a colour."""


def cause_text(causes: Mapping[str, int]) -> str:
    """`9 discontinuity, 1 unexplained`, largest first and what is unexplained last; `none` when nothing differs."""
    shown = [f"{number} {cause_name(cause)}" for cause, number in causes.items() if number]
    return ", ".join(shown) or "none"


def cause_name(cause: str) -> str:
    """A cause, or several joined by `+`, as a table and a legend write it."""
    return cause.replace("_", " ").replace("+", " + ")


def totals_text(told: Mapping[str, Any], rows: int) -> str:
    """What the picture of totals shows of how many rows."""
    if not told["modelled"]:
        return f"{TEXTS['totals']} All {count(len(told['rows']))} drawn rows of {count(rows)}."
    side = " and ".join(told["modelled"])
    return (
        f"{TEXTS['totals']} Shown are the {count(len(told['rows']))} of {count(rows)} rows whose token the step may "
        f"decide. The {side} recorded no totals: each is the likeliest one that leads to its token."
    )


def explain_command(folder: str, case: str, row: int) -> str:
    """The command that shows one row's arithmetic."""
    return shlex.join(["repro", "explain", folder, "--case", case, "--row", str(row)])


def run_command(run: RunResult) -> str:
    """The command that makes this run again."""
    if "policy" in run.options:
        words = ["repro", "gate", str(run.options["policy"])]
        return shlex.join(words + (["--until-decided"] if run.options.get("until_decided") else []))
    words = ["repro", "run", "--suite", run.suite]
    for name, value in sorted(run.options.items()):
        for part in value if isinstance(value, (list, tuple)) else [value]:
            if part is not None:
                words += [f"--{name.replace('_', '-')}", str(part)]
    return shlex.join(words)


def count(number: int) -> str:
    """1234567 as 1,234,567."""
    return f"{number:,}"


def percent(share: float) -> str:
    """A share in percent with one decimal, more where one would round it up to 100."""
    for decimals in (1, 2, 3, 4):
        text = f"{100 * share:.{decimals}f}"
        if share >= 1 or float(text) < 100:
            return text
    return text


def difference_text(difference: Difference | None) -> str:
    """One differing element in words, or nothing."""
    if difference is None:
        return ""
    baseline = value_text(difference.baseline, difference.baseline_bits)
    candidate = value_text(difference.candidate, difference.candidate_bits)
    whole = baseline == difference.baseline
    apart = "" if difference.ulp is None or whole else f", {count(difference.ulp)} ULP apart"
    return f"[{', '.join(map(str, difference.index))}]: {baseline} against {candidate}{apart}"


def value_text(value: str, bits: str) -> str:
    """A float with its bits; whole numbers and truth values are plain."""
    return value if value.lstrip("-").isdigit() or value in ("True", "False") else f"{value} ({bits})"

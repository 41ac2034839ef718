"""Many gates at once: how often a healthy run is called drift, and whether this run lost rows that another had.

Twenty gates of 5 % each raise a false alarm in 64 of 100 healthy runs. Holm's method keeps it at 5 % for all of them
together: a rate that is below its floor alone, but not beside the others, is inconclusive. A pass needs no such care:
a run passes only where every gate does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deepinfer.errors import InputError
from harness.agreement import ALPHA
from harness.explanation import rejudged
from harness.rejudge import drawn_of, with_drawn
from harness.result import CaseResult, Rate, RunResult, Verdict

RAW, RESIDUAL, LOST = "agreement", "residual", "lost"
"""The claims of drift that a case can make."""


def holm(chances: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """Which of several claims hold together, each with its chance under its null hypothesis (Holm's step-down)."""
    if min(chances, default=1.0) > alpha / max(len(chances), 1):
        return [False] * len(chances)  # the smallest decides first: a healthy run ends here, and imports no library
    from statsmodels.stats.multitest import multipletests

    return [bool(one) for one in multipletests(chances, alpha=alpha, method="holm")[0]]


@dataclass(frozen=True)
class Paired:
    """Two runs on the same rows: rows whose agreement one of them has and the other not."""

    lost: int
    gained: int

    @property
    def chance(self) -> float:
        """The chance of at least this many losses where losses and gains are as likely: exact one-sided McNemar."""
        changed = self.lost + self.gained
        return float(stats.binomtest(self.lost, changed, 0.5, alternative="greater").pvalue) if changed else 1.0


def paired(before: NDArray[np.bool_], now: NDArray[np.bool_]) -> Paired:
    """Rows that agreed before and do not now, and the other way round. Raises InputError for other rows."""
    if before.shape != now.shape or before.ndim != 1:
        raise InputError(f"{before.shape} rows before and {now.shape} now: give the same rows")
    return Paired(int((before & ~now).sum()), int((now & ~before).sum()))


def beside_each_other(run: RunResult, losses: Mapping[str, Paired] | None = None) -> RunResult:
    """The run with the drift of its rates decided together (Holm), over every case that counts.

    `losses`, by case, join the family: a case that lost rows beyond chance is drift.
    """
    lost = losses or {}
    claims = {(case, what): chance for case, what, chance in _claims(run, lost)}
    holds = dict(zip(claims, holm(list(claims.values())), strict=True))
    return replace(run, cases=tuple(_judged(case, holds, lost.get(case.name)) for case in run.cases))


def _claims(run: RunResult, losses: Mapping[str, Paired]) -> Iterator[tuple[str, str, float]]:
    """(case, what, chance) of every claim of drift that could be made."""
    for case in run.cases:
        drawn = drawn_of(case)
        if case.report_only or drawn is None:
            continue
        assert drawn.rate is not None and drawn.attribution is not None
        for what, rate in ((RAW, drawn.rate), (RESIDUAL, drawn.attribution.residual)):
            if rate.p_drift is not None:
                yield case.name, what, rate.p_drift
        if case.name in losses:
            yield case.name, LOST, losses[case.name].chance


def _judged(case: CaseResult, holds: Mapping[tuple[str, str], bool], loss: Paired | None) -> CaseResult:
    drawn = drawn_of(case)
    if case.report_only or drawn is None:
        return case
    assert drawn.rate is not None and drawn.attribution is not None
    rates = drawn.rate, drawn.attribution.residual
    kept = [_held(rate, holds.get((case.name, what), True)) for what, rate in zip((RAW, RESIDUAL), rates, strict=True)]
    found = rejudged(drawn, *kept)
    told = ""
    if tuple(kept) != rates:
        told = f"; below its floor alone, not among {len(holds)} claims (Holm)"
    if loss is not None and holds[case.name, LOST]:
        found = replace(found, verdict=Verdict.DRIFT)
        told += f"; {loss.lost} rows lost and {loss.gained} gained since the accepted run, chance {loss.chance:.2g}"
    if not told:
        return case
    return with_drawn(case, replace(found, reason=found.reason + told))


def _held(rate: Rate, holds: bool) -> Rate:
    """The rate; its drift is inconclusive where the claim does not hold beside the others."""
    if rate.verdict is Verdict.DRIFT and rate.p_drift is not None and not holds:
        return replace(rate, verdict=Verdict.INCONCLUSIVE)
    return rate

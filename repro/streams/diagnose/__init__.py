"""Given tokens that a claim does not explain, which one of its assumptions broke?

    diagnose(Claim("vllm_v2", "0.33.0", logits, facts={"seed": 7, "position": 12, ...}), tokens)

Every hypothesis of `HYPOTHESES` is tried alone, then in pairs. A finding names all changes that cannot be told apart
on these rows, how many rows it explains, and how likely a wrong one explains as much.
"""

from __future__ import annotations

from repro.streams.diagnose.claim import Claim
from repro.streams.diagnose.hypothesis import Hypothesis
from repro.streams.diagnose.search import Diagnosis, Finding, diagnose
from repro.streams.diagnose.table import HYPOTHESES

__all__ = ["HYPOTHESES", "Claim", "Diagnosis", "Finding", "Hypothesis", "diagnose"]

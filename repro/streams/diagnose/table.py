"""The hypotheses, the likeliest first. A new one is one entry."""

from __future__ import annotations

from repro.streams.diagnose import changes, filters
from repro.streams.diagnose.hypothesis import Hypothesis

HYPOTHESES = (
    Hypothesis("version", changes.versions),
    Hypothesis("keying, role or precision", changes.choices),
    Hypothesis("seed", changes.seeds),
    Hypothesis("step", changes.steps),
    Hypothesis("offset unit", changes.offsets_in_other_units),
    Hypothesis("GPU", changes.gpus),
    Hypothesis("batch", changes.batches),
    Hypothesis("parameters", filters.parameters),
    Hypothesis("neighbour's parameters", filters.neighbours_parameters),
    Hypothesis("filter rule", filters.cuts_made_otherwise),
    Hypothesis("dtype of the rows", filters.dtypes),
    Hypothesis("one-survivor draw", changes.survivors_without_a_draw, paired=False),
    Hypothesis("engine", changes.engines),
)

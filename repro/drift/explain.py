"""The hook that attributes differences: read from `explain` downward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.agreement import rate_of
from harness.case import Case, Inputs, Outputs
from harness.result import Attribution
from harness.rules import Agreement
from repro.drift.attribute import Reach, kept_causes, reach_of, restore_rows
from repro.drift.false_match import false_match_rate
from repro.drift.predict import expectation, predicted
from repro.drift.sides import model_of, side_of
from repro.drift.state import Facts, facts_of
from repro.drift.streams import table_of


def explain(
    case: Case, inputs: Inputs, baseline: Outputs, candidate: Outputs, differs: NDArray[np.bool_]
) -> tuple[Attribution, Mapping[str, Any]]:
    """Why the rows `differs` disagree, what was to be expected, and the numbers behind it (see harness/explanation.py).
    """
    ...

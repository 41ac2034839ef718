"""Rows and sampling parameters of a replay, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepinfer.errors import InputError
from deepinfer.sampling import checks

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Params:
    """One entry a row: `temperature` float32 > 0, `top_k` int64 (the column count when off or larger), `top_p` float32
    (1: off), `min_p` float32 (0: off). `top_k_given` bool: a top_k was asked for, whatever it is."""

    temperature: F32
    top_k: I64
    top_p: F32
    min_p: F32
    top_k_given: NDArray[np.bool_]

    @property
    def filtered(self) -> NDArray[np.bool_]:
        """Rows with top-p or min-p on; top-k is seen from the column count."""
        return (self.top_p < 1) | (self.min_p > 0)


def check_rows(rows: Any, kind: str) -> F32:
    """float32[Q, V] of logits or probabilities: at least one row and column, no NaN, no +inf, something to draw."""
    array = checks.matrix(kind, rows)
    if not len(array):
        raise InputError(f"{kind} have no rows: give one a token")
    top = array.max(axis=1)
    bad = ~(top > -np.inf) | (top == np.inf)
    if kind == "probabilities":
        bad |= (top <= 0) | (array.min(axis=1) < 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{kind} of row {row} have NaN, +inf, a negative or nothing to draw: mend or leave out the row"
        )
    return array


def check_params(
    rows: F32, kind: str, temperature: ArrayLike, top_k: ArrayLike, top_p: ArrayLike, min_p: ArrayLike
) -> Params:
    """The parameters for each row. Raises InputError for a value out of range, and for logits that are filtered
    already while a filter is on."""
    count, columns = rows.shape
    heat = checks.temperature(checks.column("temperature", temperature, count))
    checks.refuse("temperature", heat, heat == 0, "a number above 0: greedy decoding draws nothing to replay")
    k = checks.top_k(checks.column("top_k", top_k, count))
    p = checks.top_p(checks.column("top_p", top_p, count))
    low = np.asarray([checks.min_p(float(x)) for x in checks.column("min_p", min_p, count)], np.float32)
    params = Params(heat, np.where((k == -1) | (k > columns), columns, k), p, low, k != -1)
    gone = (rows == (-np.inf if kind == "logits" else 0)).sum(axis=1)
    on = params.filtered | (params.top_k < columns)
    if kind == "logits" and (on & (gone > 0)).any():
        row = int(np.flatnonzero(on & (gone > 0))[0])
        raise InputError(
            f"logits of row {row} are filtered already ({gone[row]} of {columns} are -inf) and a filter is on: "
            "give the logits before the filters, or turn top_k, top_p and min_p off"
        )
    return params

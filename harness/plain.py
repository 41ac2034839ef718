"""Turns evidence into JSON values: what a result holds is what comes back from its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_LEAVES = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """`value` with numpy arrays and tuples as lists, numpy scalars as Python's, keys as strings.

    Raises TypeError for anything that JSON has no form for.
    """
    if type(value) in _LEAVES:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _LEAVES else plain(item) for item in value]
    if isinstance(value, np.generic) and value.dtype.kind in "biufU" and not isinstance(value, np.longdouble):
        return plain(value.item())
    if isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a {type(value).__name__} has no JSON form: give numbers, strings, lists, mappings or arrays")

"""Turns evidence into JSON values: what a result holds is what comes back from its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """`value` with numpy arrays and tuples as lists, numpy scalars as Python's, keys as strings.

    Raises TypeError for anything that JSON has no form for.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a {type(value).__name__} has no JSON form: give numbers, strings, lists, mappings or arrays")

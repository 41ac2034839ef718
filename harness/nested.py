"""What a callable returns, as arrays by name: nested mappings by dotted names, rows of unequal length padded.

Needs numpy alone and nothing of this project: harness/interpreter_runner.py loads it in other interpreters. Errors are
ValueErrors of one line.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

LENGTHS = ".lengths"
"""NAME and NAME.lengths together are rows of unequal length: entries of NAME at and beyond a row's length are none."""
LOW_PRECISION = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")


def flatten(returned: Any, default: str) -> dict[str, Any]:
    """Arrays by name. A mapping in a mapping gives OUTER.INNER, so does a list of mappings (OUTER.0.INNER); anything
    that is not a mapping is called `default`. Raises ValueError for what is no array, or where two get one name."""
    flat: dict[str, Any] = {}
    for name, value in _leaves(returned, "", default):
        for part, array in _arrays(name, value).items():
            if part in flat:
                raise ValueError(f"two outputs are called {part!r}: give each its own name")
            flat[part] = array
    return flat


def _leaves(value: Any, prefix: str, default: str) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        pairs = [(str(key), part) for key, part in value.items()]
    elif isinstance(value, (list, tuple)) and value and all(isinstance(part, Mapping) for part in value):
        pairs = [(str(at), part) for at, part in enumerate(value)]
    else:
        return [(prefix or default, value)]
    return [leaf for key, part in pairs for leaf in _leaves(part, f"{prefix}.{key}" if prefix else key, default)]


def _arrays(name: str, value: Any) -> dict[str, Any]:
    if _is_ragged(value):
        padded, lengths = pad([as_array(name, row) for row in value])
        return {name: padded, name + LENGTHS: lengths}
    return {name: as_array(name, value)}


def _is_ragged(value: Any) -> bool:
    """A list of rows (lists, or arrays of one dimension) that are not all of one length."""
    if not isinstance(value, (list, tuple)):
        return False
    rows = [isinstance(row, (list, tuple)) or getattr(row, "ndim", 0) == 1 for row in value]
    return bool(rows) and all(rows) and len({len(row) for row in value}) > 1


def pad(rows: Sequence[Any]) -> tuple[Any, Any]:
    """Rows of unequal length as [rows, longest], zeros behind each, and their lengths int64[rows].

    An empty row takes the dtype of the others. Raises ValueError where rows differ in dtype or are not flat.
    """
    dtypes = {row.dtype for row in rows if row.size}
    if len(dtypes) > 1 or any(row.ndim != 1 for row in rows):
        raise ValueError(f"rows of unequal length with dtypes {sorted(map(str, dtypes))}: give flat rows of one dtype")
    lengths = np.asarray([len(row) for row in rows], np.int64)
    padded = np.zeros((len(rows), int(lengths.max())), dtypes.pop() if dtypes else np.int64)
    for at, row in enumerate(rows):
        padded[at, : len(row)] = row
    return padded, lengths


def as_array(name: str, value: Any) -> Any:
    """One array. Tensors of torch are taken to the CPU, those of bfloat16 and float8 through `ml_dtypes`."""
    array = value if isinstance(value, np.ndarray) else _from_tensor(value)
    if array is None:
        try:
            array = np.asarray(value)
        except ValueError as error:
            what = f"{type(value).__name__} for {name!r}, which is no array ({error})"
            raise ValueError(f"{what}: give a numpy array of numbers") from None
    if array.dtype.kind == "O":
        raise ValueError(f"{type(value).__name__} for {name!r}: give a numpy array of numbers")
    return array


def _from_tensor(value: Any) -> Any:
    """The numpy array of a torch tensor; None for anything else. torch is looked up, never imported."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    tensor = value.detach().cpu().contiguous()
    name = str(tensor.dtype).rpartition(".")[2]
    if name not in LOW_PRECISION:
        return tensor.numpy()
    import ml_dtypes

    if tensor.ndim == 0:
        return tensor.reshape(1).view(torch.uint8).numpy().view(getattr(ml_dtypes, name)).reshape(())
    return tensor.view(torch.uint8).numpy().view(getattr(ml_dtypes, name))

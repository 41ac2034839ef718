"""RunResult to JSON text and back: sorted keys, one text for one value, nothing lost."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from deepinfer.errors import InputError
from harness.result import RunResult

SCHEMA_VERSION = 1


def run_to_json(run: RunResult) -> str:
    """The text of run.json. Floats are written so that they come back bit for bit; NaN and infinities as strings."""
    plain = _plain(run)
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def run_from_json(text: str) -> RunResult:
    """The value that `run_to_json` wrote. Raises InputError for anything else."""
    try:
        data = json.loads(text)
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise InputError(f"run.json has schema version {version!r}: this program reads {SCHEMA_VERSION}")
        run = _build(RunResult, data)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"run.json is not the result of a run: {type(error).__name__}: {error}") from None
    assert isinstance(run, RunResult)
    return run


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} {value!r} is not a JSON value")


def _build(kind: Any, data: Any) -> Any:
    """Build a value of the annotation `kind` from JSON values."""
    if kind is Any:
        return _unwrap(data)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        unknown = set(data) - {field.name for field in fields(kind)}
        if unknown:
            raise TypeError(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
        return kind(**{name: _build(hints[name], part) for name, part in data.items()})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if data is None else _build(next(part for part in arguments if part is not type(None)), data)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_build(arguments[0], part) for part in data)
        return tuple(_build(part, value) for part, value in zip(arguments, data, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        return {key: _build(arguments[1], part) for key, part in data.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    value = _unwrap(data)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value


def _unwrap(data: Any) -> Any:
    if isinstance(data, dict):
        if set(data) == {"float"}:
            return float(data["float"])
        return {key: _unwrap(part) for key, part in data.items()}
    return [_unwrap(part) for part in data] if isinstance(data, list) else data

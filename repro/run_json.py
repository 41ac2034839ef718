"""RunResult to JSON text and back: sorted keys, one text for one value, nothing lost."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from deepinfer.errors import InputError
from harness.result import RunResult

SCHEMA_VERSION = 1


def run_to_json(run: RunResult) -> str:
    """The text of run.json. Floats are written so that they come back bit for bit; NaN and infinities as objects."""
    try:
        return _text(run)
    except ValueError:  # a float that JSON has no form for
        return _text(_marked(_as_dict(run)))


def run_from_json(text: str) -> RunResult:
    """The value that `run_to_json` wrote. Raises InputError for anything else."""
    try:
        data = json.loads(text, object_hook=_unmarked)
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


def _text(value: Any) -> str:
    options: dict[str, Any] = {"sort_keys": True, "ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    return json.dumps(value, default=_as_dict, **options) + "\n"


def _as_dict(value: Any) -> dict[str, Any]:
    """A dataclass or a mapping, one level deep."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    raise TypeError(f"{type(value).__name__} {value!r} is not a JSON value")


def _marked(value: Any) -> Any:
    """`value` with {"float": "nan"}, {"float": "inf"} or {"float": "-inf"} for what JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_marked(part) for part in value]
    return {key: _marked(part) for key, part in _as_dict(value).items()}


def _unmarked(data: dict[str, Any]) -> Any:
    return float(data["float"]) if set(data) == {"float"} else data


def _build(kind: Any, data: Any) -> Any:
    """Build a value of the annotation `kind` from JSON values."""
    if kind is Any:
        return data
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
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, kind):
        raise TypeError(f"{data!r} is not {kind.__name__}")
    return data

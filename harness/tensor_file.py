"""Arrays by name as one safetensors file, with bfloat16 and float8: what other programs are given and give back."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from safetensors import deserialize
from safetensors.numpy import save

from deepinfer.errors import InputError

Array = NDArray[Any]
MOST_BYTES = 2**33
"""A file of outputs larger than this is refused unread."""
DTYPES = MappingProxyType(
    {
        "F64": np.dtype(np.float64),
        "F32": np.dtype(np.float32),
        "F16": np.dtype(np.float16),
        "BF16": np.dtype(ml_dtypes.bfloat16),
        "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
        "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
        "F8_E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
        "F8_E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
        "I64": np.dtype(np.int64),
        "I32": np.dtype(np.int32),
        "I16": np.dtype(np.int16),
        "I8": np.dtype(np.int8),
        "U64": np.dtype(np.uint64),
        "U32": np.dtype(np.uint32),
        "U16": np.dtype(np.uint16),
        "U8": np.dtype(np.uint8),
        "BOOL": np.dtype(np.bool_),
    }
)


def to_bytes(values: Mapping[str, Any], metadata: Mapping[str, str]) -> bytes:
    """Arrays as tensors; every other value as JSON text in the metadata under its name, beside `metadata`.

    Raises InputError for a value that has neither form.
    """
    arrays: dict[str, Array] = {}
    texts = dict(metadata)
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            if value.dtype.newbyteorder("=") not in DTYPES.values():
                raise InputError(f"input {name!r} is {value.dtype}: safetensors has no such dtype; give numbers")
            arrays[name] = np.ascontiguousarray(value, value.dtype.newbyteorder("=")).reshape(value.shape)
            continue
        try:
            texts[name] = json.dumps(value.item() if isinstance(value, np.generic) else value)
        except TypeError:
            kind = type(value).__name__
            raise InputError(f"input {name!r} is a {kind}: give arrays, numbers, strings or None") from None
    return save(arrays, texts)


def from_bytes(content: bytes) -> dict[str, Array]:
    """The arrays of a file. Raises ValueError, in one line, for anything that is no whole and plain one."""
    try:
        tensors: list[tuple[str, Any]] = deserialize(content)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise ValueError(f"no safetensors file ({' '.join(str(error).split())})") from None
    found: dict[str, Array] = {}
    for name, tensor in tensors:
        if not name.isprintable() or not name:
            raise ValueError(f"a tensor is called {name!r}: give printable names")
        dtype = DTYPES.get(tensor["dtype"])
        if dtype is None:
            raise ValueError(f"{name!r} is {tensor['dtype']}: known are {', '.join(DTYPES)}")
        raw = np.frombuffer(tensor["data"], np.uint8)
        if dtype.kind == "b" and raw.size and int(raw.max()) > 1:
            raise ValueError(f"{name!r} is BOOL and holds the byte {int(raw.max())}: give 0 and 1")
        found[name] = raw.view(dtype).reshape(tensor["shape"])
    return found


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a file that another program wrote. Links, pipes, folders and files of more than MOST_BYTES are not
    opened. Raises ValueError in one line."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ValueError(f"wrote no {path.name}") from None
    except OSError as error:
        raise ValueError(f"left a {path.name} that cannot be read ({error.strerror})") from None
    with open(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError(f"left a {path.name} that is no plain file")
        if facts.st_size > MOST_BYTES:
            raise ValueError(f"wrote {facts.st_size} bytes: at most {MOST_BYTES} are read")
        content = file.read()
    try:
        return from_bytes(content)
    except ValueError as error:
        raise ValueError(f"wrote {path.name}: {error}") from None

"""Files of logits, read in chunks of rows so that memory does not grow with the file.

A file holds `logits` float32[rows, columns] and, if it likes, `seeds` and `positions`, one integer a row. `.npz`
members are streamed from the zip archive, `.safetensors` and `.parquet` are read slice by slice. Nothing is unpickled.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from deepinfer.errors import InputError, unknown_name

EXTRAS = ("seeds", "positions")
SUFFIXES = (".npz", ".safetensors", ".parquet")

Chunks = Callable[[int], Iterator[NDArray[np.float32]]]


@dataclass(frozen=True)
class LogitsFile:
    """An opened file: its shape, the integer arrays beside the logits, and `chunks(size)`, which yields float32
    arrays of `size` rows (the last may be shorter) in order."""

    path: Path
    rows: int
    columns: int
    extras: dict[str, NDArray[Any]]
    chunks: Chunks


def open_logits(path: Path) -> LogitsFile:
    """Open `path` by its suffix. Raises InputError in one line for a missing, truncated, foreign or pickled file."""
    if path.suffix not in SUFFIXES:
        raise unknown_name("file type", path.suffix or path.name, SUFFIXES)
    if not path.is_file():
        raise InputError(f"{path} is not a file: give a {', '.join(SUFFIXES)} file that holds `logits`")
    opened = {".npz": _open_npz, ".safetensors": _open_safetensors, ".parquet": _open_parquet}[path.suffix](path)
    for name, array in opened.extras.items():
        if array.dtype.kind not in "iu" or array.shape != (opened.rows,):
            raise InputError(
                f"{path}: {name} is {array.dtype}{list(array.shape)}: give {opened.rows} integers, one for each row"
            )
    return opened


def _check(path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    if dtype != "float32" or len(shape) != 2 or shape[1] < 1:
        raise InputError(
            f"{path}: logits are {dtype}{list(shape)}: give float32[rows, columns] with at least one column "
            "(convert explicitly, rounding is a choice)"
        )


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} cannot be read as {path.suffix[1:]}: {error}: the file is truncated or of another kind")


def _open_npz(path: Path) -> LogitsFile:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if "logits.npy" not in names:
                raise InputError(f"{path} has no array `logits`: it holds {_listed(names)}")
            with archive.open("logits.npy") as member:
                shape, dtype = _npy_header(path, "logits", member)
            _check(path, str(dtype), shape)
            extras = {name: _small_array(path, archive, name) for name in EXTRAS if f"{name}.npy" in names}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise error if isinstance(error, InputError) else _unreadable(path, error) from None
    rows, columns = shape
    stride = 4 * columns

    def chunks(size: int) -> Iterator[NDArray[np.float32]]:
        try:
            with zipfile.ZipFile(path) as archive, archive.open("logits.npy") as member:
                _npy_header(path, "logits", member)
                for start in range(0, rows, size):
                    count = min(size, rows - start)
                    block = member.read(count * stride)
                    if len(block) != count * stride:
                        raise EOFError(f"logits end after row {start + len(block) // stride} of {rows}")
                    yield np.frombuffer(block, dtype).reshape(count, columns).astype(np.float32, copy=False)
                member.read(1)  # reaching the end is what makes zipfile check the sum
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise _unreadable(path, error) from None

    return LogitsFile(path, rows, columns, extras, chunks)


def _npy_header(path: Path, name: str, member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(member)  # type: ignore[no-untyped-call]
    reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = reader(member)  # type: ignore[no-untyped-call]
    if dtype.hasobject:
        raise InputError(f"{path}: {name} holds pickled objects, which are never loaded: save a plain array")
    if fortran and len(shape) > 1:
        raise InputError(f"{path}: {name} is stored column by column: save np.ascontiguousarray({name})")
    return shape, dtype


def _small_array(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as member:
        shape, dtype = _npy_header(path, name, member)
        return np.frombuffer(member.read(), dtype).reshape(shape)


def _open_safetensors(path: Path) -> LogitsFile:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            if "logits" not in names:
                raise InputError(f"{path} has no tensor `logits`: it holds {_listed(names)}")
            view = file.get_slice("logits")
            dtype, shape = view.get_dtype(), tuple(view.get_shape())
            _check(path, {"F32": "float32"}.get(dtype, dtype), shape)
            extras = {name: file.get_tensor(name) for name in EXTRAS if name in names}
    except (SafetensorError, json.JSONDecodeError) as error:
        raise _unreadable(path, error) from None
    rows, columns = shape

    def chunks(size: int) -> Iterator[NDArray[np.float32]]:
        for start in range(0, rows, size):
            with safe_open(path, framework="numpy") as file:  # opened for each chunk: a mapping keeps what it touched
                yield file.get_slice("logits")[start : min(start + size, rows)]

    return LogitsFile(path, rows, columns, extras, chunks)


def _open_parquet(path: Path) -> LogitsFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def opened() -> Any:
        return pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)  # else a whole row group is held

    try:
        with opened() as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            if "logits" not in schema.names:
                raise InputError(f"{path} has no column `logits`: it holds {_listed(set(schema.names))}")
            kind = schema.field("logits").type
            if not pa.types.is_fixed_size_list(kind):
                raise InputError(f"{path}: logits are {kind}: give a fixed-size list of float32 (one list a row)")
            columns = kind.list_size
            _check(path, {"float": "float32"}.get(str(kind.value_type), str(kind.value_type)), (rows, columns))
            names = [name for name in EXTRAS if name in schema.names]
            table = file.read(columns=names) if names else None
            extras = {name: table.column(name).to_numpy() for name in names} if table is not None else {}
    except (pa.ArrowInvalid, OSError) as error:
        raise _unreadable(path, error) from None

    def chunks(size: int) -> Iterator[NDArray[np.float32]]:
        try:
            with opened() as file:
                for batch in file.iter_batches(size, columns=["logits"], use_threads=False):
                    column = batch.column("logits")
                    flat = column.flatten()
                    if column.null_count or flat.null_count:
                        raise InputError(f"{path}: logits hold nulls: give a number for every column of every row")
                    yield flat.to_numpy(zero_copy_only=False).reshape(len(column), columns)
        except (pa.ArrowInvalid, OSError) as error:
            raise _unreadable(path, error) from None

    return LogitsFile(path, rows, columns, extras, chunks)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)[:8]) + (" ..." if len(names) > 8 else "") if names else "nothing"

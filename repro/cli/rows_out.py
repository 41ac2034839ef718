"""Where sampled rows go: parquet or JSON lines, a file that appears whole or not at all, or stdout."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from deepinfer.errors import InputError, unknown_name

SUFFIXES = (".parquet", ".jsonl")

Columns = Mapping[str, Sequence[Any]]


class Sink(Protocol):
    """Takes the rows of one chunk: `row`, `token`, `logprob` (None: no token) and `status`, of equal length."""

    def __call__(self, columns: Columns) -> None: ...


@contextmanager
def rows_sink(path: Path | None, stdout: IO[str]) -> Iterator[Sink]:
    """A sink that writes JSON lines to `stdout`, or to `path` by its suffix.

    A file is written beside its place and renamed at the end; when the body raises, `path` is as it was.
    """
    if path is None:
        yield lambda columns: _write_lines(stdout, columns)
        return
    if path.suffix not in SUFFIXES:
        raise unknown_name("output type", path.suffix or path.name, SUFFIXES)
    if not path.parent.is_dir():
        raise InputError(f"--out {path}: there is no folder {path.parent}: make it first")
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        with _parquet(temporary) if path.suffix == ".parquet" else _lines(temporary) as sink:
            yield sink
        os.chmod(temporary, 0o644 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def _lines(path: str) -> Iterator[Sink]:
    with open(path, "w", encoding="utf-8") as file:
        yield lambda columns: _write_lines(file, columns)


def _write_lines(file: IO[str], columns: Columns) -> None:
    for values in zip(*columns.values(), strict=True):
        file.write(json.dumps(dict(zip(columns, values, strict=True)), separators=(",", ":")) + "\n")


@contextmanager
def _parquet(path: str) -> Iterator[Sink]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("row", pa.int64()), ("token", pa.int32()), ("logprob", pa.float32()), ("status", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        yield lambda columns: writer.write_table(pa.table(dict(columns), schema))

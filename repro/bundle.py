"""A run folder, `NAME.repro/`: written whole or not at all, and refused when a byte of it changed.

    manifest.json   schema, ids of the specifications, size and blake3 of every other file
    run.json        the RunResult            verdict.json   verdict, exit code and rates, floats in hex
    rows.parquet    every row of every case  env.json       host, versions and wall clock: the only file with them
    report.html     summary.md               rendered from run.json alone

Data in a folder is JSON, parquet and text; nothing is unpickled, and no name in it leads outside.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepinfer.errors import InputError
from harness.result import RunResult
from repro.run_json import run_from_json

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
SCHEMA = "deepinfer-repro/run/1"
SPECS = {"rng": 1, "sampling": 1, "verdict": 1}
SUFFIX = ".repro"
AT_FDCWD, RENAME_EXCHANGE = -100, 2


@dataclass(frozen=True)
class Run:
    """A verified run folder that was read."""

    path: Path
    result: RunResult
    env: Mapping[str, Any]
    rows_parquet: bytes

    def rows(self, case: str) -> pa.Table:
        """The rows of one case, in row order."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        return pq.read_table(pa.BufferReader(self.rows_parquet), filters=pc.field("case") == case)


def check_target(path: Path) -> None:
    """Refuse a place where a run folder must not go, before any work is done."""
    if path.suffix != SUFFIX:
        raise InputError(f"--out {path} does not end in {SUFFIX}: give DIR{SUFFIX}")
    if not path.parent.is_dir() and path.parent.exists():
        raise InputError(f"--out {path}: {path.parent} is not a folder")
    if path.is_symlink() or (path.exists() and not _is_run_folder(path)):
        raise InputError(f"--out {path} exists and is not a run folder: it is left as it is; give another name")
    if path.exists():
        foreign = _present(path) - set(_read_manifest(path))
        if foreign:
            raise InputError(f"--out {path} holds {min(foreign)}, which no run wrote: move it, or give another name")


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` and their manifest to the folder `path`, replacing a run folder that stands there.

    Everything is written to a sibling and moved in one step: whenever the process is killed, `path` holds the old
    folder or the new one.
    """
    check_target(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        for name, content in {**files, MANIFEST: _manifest(files)}.items():
            with open(temporary / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o755)
        if path.exists():
            _exchange(temporary, path)
        else:
            temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # the replaced folder, or what an error left


def read_run(path: Path) -> Run:
    """Read and verify the run folder `path`. Raises InputError naming the first thing that is wrong."""
    content = verified_files(path)
    try:
        text = content["run.json"].decode()
        env, rows = json.loads(content["env.json"]), content["rows.parquet"]
    except (KeyError, ValueError) as error:
        raise InputError(f"{path} is not a whole run folder: {error}") from None
    return Run(path, run_from_json(text), env, rows)


def verified_files(path: Path) -> dict[str, bytes]:
    """The bytes of every file of a run folder, each checked against the manifest; none missing, none extra."""
    if not _is_run_folder(path):
        raise InputError(f"{path} is not a run folder: give a DIR{SUFFIX} that `repro run --out` wrote")
    listed = _read_manifest(path)
    present = _present(path)
    for name in sorted(present ^ set(listed)):
        raise InputError(f"{path}: {name} is {'not in the manifest' if name in present else 'missing'}")
    content: dict[str, bytes] = {}
    for name, facts in sorted(listed.items()):
        file = path / name
        if file.is_symlink() or not file.is_file():
            raise InputError(f"{path}: {name} is not a plain file")
        content[name] = file.read_bytes()
        if _facts(content[name]) != facts:
            raise InputError(f"{path}: {name} was changed since it was written")
    return content


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        schema, listed = manifest["schema"], manifest["files"]
        names = list(listed)
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path}: {MANIFEST} is not the manifest of a run folder") from None
    if schema != SCHEMA:
        raise InputError(f"{path} has schema {schema!r}: this program reads {SCHEMA!r}")
    for name in names:
        if name in ("", ".", "..", MANIFEST) or Path(name).name != name or "\\" in name or "\0" in name:
            raise InputError(f"{path}: the manifest names {name!r}, which is no plain file name")
    return dict(listed)


def _present(path: Path) -> set[str]:
    return {entry.name for entry in os.scandir(path)} - {MANIFEST}


def _is_run_folder(path: Path) -> bool:
    return path.is_dir() and (path / MANIFEST).is_file()


def _manifest(files: Mapping[str, bytes]) -> bytes:
    listed = {name: _facts(content) for name, content in files.items()}
    return (json.dumps({"schema": SCHEMA, "specs": SPECS, "files": listed}, sort_keys=True, indent=1) + "\n").encode()


def _facts(content: bytes) -> dict[str, Any]:
    from blake3 import blake3

    return {"blake3": blake3(content).hexdigest(), "bytes": len(content)}


def _exchange(new: Path, old: Path) -> None:
    """Put folder `new` in the place of `old` and the other way round: in one step where the file system can, else
    `old` is absent for an instant."""
    libc = ctypes.CDLL(None)
    if libc.renameat2(AT_FDCWD, os.fsencode(new), AT_FDCWD, os.fsencode(old), RENAME_EXCHANGE):
        aside = new.with_name(f"{new.name}.old")
        old.rename(aside)
        new.rename(old)
        aside.rename(new)

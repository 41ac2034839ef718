"""A run folder is whole or absent, and every changed byte of it is found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from deepinfer.errors import InputError
from harness.result import RunResult
from repro import bundle
from repro.report.folder import rows_parquet
from repro.run_json import run_from_json, run_to_json


def files_of(run: RunResult) -> dict[str, bytes]:
    return {"run.json": run_to_json(run).encode(), "env.json": b"{}", "rows.parquet": rows_parquet(run)}


@pytest.fixture
def folder(tmp_path: Path, run_result: RunResult) -> Path:
    path = tmp_path / "one.repro"
    bundle.write_folder(path, files_of(run_result))
    return path


def change_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_run_json_round_trip(run_result: RunResult) -> None:
    text = run_to_json(run_result)
    assert run_from_json(text) == run_result
    assert run_to_json(run_from_json(text)) == text


def test_run_json_tells_runs_apart(run_result: RunResult) -> None:
    assert run_to_json(run_result) != run_to_json(replace(run_result, suite="other"))


def test_run_json_keeps_numbers_that_json_lacks(run_result: RunResult) -> None:
    evidence = {"x": [float("inf"), float("-inf"), -0.0, 2**64 - 1, 0.1, None, True]}
    run = replace(run_result, cases=(replace(run_result.cases[0], evidence=evidence),))
    assert repr(run_from_json(run_to_json(run)).cases[0].evidence) == repr(evidence)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema_version": 2}', '{"schema_version": 1}', '{"schema_version": 1, "suite": 3}']
)
def test_foreign_run_json_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        run_from_json(text)
    assert "\n" not in str(caught.value)


def test_unknown_field_is_refused(run_result: RunResult) -> None:
    data = {**json.loads(run_to_json(run_result)), "surprise": 1}
    with pytest.raises(InputError, match="surprise"):
        run_from_json(json.dumps(data))


def test_folder_round_trip(folder: Path, run_result: RunResult) -> None:
    run = bundle.read_run(folder)
    assert run.result == run_result
    rows = run.rows(run_result.cases[0].name).to_pydict()
    assert rows["row"] == list(range(4))
    assert rows["candidate_token"] == run_result.cases[0].evidence["rows"]["candidate_token"]
    assert run.rows(run_result.cases[1].name).num_rows == 0


def test_nothing_is_left_beside_the_folder(folder: Path) -> None:
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]


def test_a_run_folder_is_replaced(folder: Path, run_result: RunResult) -> None:
    bundle.write_folder(folder, files_of(replace(run_result, suite="other")))
    assert bundle.read_run(folder).result.suite == "other"
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]


def test_replacing_without_exchange(folder: Path, run_result: RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoExchange:
        @staticmethod
        def renameat2(*arguments: object) -> int:
            return -1

    monkeypatch.setattr(bundle.ctypes, "CDLL", lambda name: NoExchange)
    bundle.write_folder(folder, files_of(replace(run_result, suite="other")))
    assert bundle.read_run(folder).result.suite == "other"
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("name", ["run.json", "env.json", "rows.parquet"])
@pytest.mark.parametrize("harm", ["flip", "append", "truncate", "remove", "link"])
def test_a_changed_file_is_named(folder: Path, name: str, harm: str) -> None:
    path = folder / name
    content = path.read_bytes()
    if harm == "flip":
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    elif harm == "append":
        path.write_bytes(content + b" ")
    elif harm == "truncate":
        path.write_bytes(content[:-1])
    elif harm == "remove":
        path.unlink()
    else:
        shutil.copy(path, folder.parent / "elsewhere")
        path.unlink()
        path.symlink_to(folder.parent / "elsewhere")
    with pytest.raises(InputError, match=name):
        bundle.read_run(folder)


def test_an_extra_file_is_named(folder: Path) -> None:
    (folder / "note.txt").write_text("mine")
    with pytest.raises(InputError, match=r"note\.txt"):
        bundle.read_run(folder)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "sub/file", "..", ".", "", "a\\b", "a\0b"])
def test_no_name_leaves_the_folder(folder: Path, name: str) -> None:
    (folder.parent / "outside").write_text("secret")
    change_manifest(folder, files={name: {"blake3": "", "bytes": 6}})
    with pytest.raises(InputError, match="no plain file name"):
        bundle.read_run(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"schema": "other/1", "files": {}}', "\xff"])
def test_a_foreign_manifest_is_refused(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputError) as caught:
        bundle.read_run(folder)
    assert "\n" not in str(caught.value)


def test_no_folder_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run folder"):
        bundle.read_run(tmp_path / "none.repro")


def test_foreign_targets_are_left_as_they_are(tmp_path: Path, folder: Path, run_result: RunResult) -> None:
    (tmp_path / "file.repro").write_text("mine")
    (tmp_path / "empty.repro").mkdir()
    site = tmp_path / "site.repro"
    site.mkdir()
    (site / "manifest.json").write_text('{"name": "web app"}')
    (tmp_path / "link.repro").symlink_to(folder)
    noted = shutil.copytree(folder, tmp_path / "noted.repro")
    (noted / "note.txt").write_text("mine")
    for name in ("file.repro", "empty.repro", "site.repro", "link.repro", "noted.repro"):
        with pytest.raises(InputError, match=name):
            bundle.write_folder(tmp_path / name, files_of(run_result))
    assert (tmp_path / "file.repro").read_text() == "mine"
    assert list((tmp_path / "empty.repro").iterdir()) == []
    assert (site / "manifest.json").read_text() == '{"name": "web app"}'
    assert (noted / "note.txt").read_text() == "mine"
    assert (tmp_path / "link.repro").is_symlink()
    with pytest.raises(InputError, match=r"\.repro"):
        bundle.check_target(tmp_path / "out")


def test_an_error_while_writing_leaves_the_old_folder(
    folder: Path, run_result: RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        bundle.write_folder(folder, files_of(replace(run_result, suite="other")))
    assert bundle.read_run(folder).result == run_result
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]


def test_killed_at_any_moment_the_folder_is_whole(folder: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom repro import bundle\n"
        "path = Path(sys.argv[1])\nfiles = bundle.verified_files(path)\nprint('ready', flush=True)\n"
        "while True: bundle.write_folder(path, files)\n"
    )
    for delay in (0.0, 0.004, 0.011, 0.023):
        with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(delay)
            os.kill(writer.pid, signal.SIGKILL)
        bundle.read_run(folder)

"""`repro run` and `repro report`, end to end on small cases."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from repro.bundle import read_run
from repro.cli import main

SMALL = ["run", "--case", "normal3_129280/k1/two_level-vs-*", "--backend", "reference", "--outputs", "tokens,kept"]
MODULE = """
import numpy as np
from harness.recorded import load_outputs

def right(inputs):
    return load_outputs("real", "k1")["tokens"]

def wrong(inputs):
    return right(inputs) + np.int32(1)

def short(inputs):
    return right(inputs)[:-1]

def empty(inputs):
    return np.zeros(0, np.int32)

def broken(inputs):
    raise RuntimeError("no")

value = 3
"""
OWN = ["run", "--case", "real/k1/*", "--outputs", "tokens", "-q"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a module of candidates."""
    (tmp_path / "own_sampler.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    sys.modules.pop("own_sampler", None)
    return tmp_path


def test_a_run_leaves_a_verified_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x.repro"
    assert main([*SMALL, "--out", str(out)]) == 0
    seen = capsys.readouterr()
    assert "verdict      pass (exit code 0)" in seen.out
    assert str(out / "report.html") in seen.out
    assert "[1/1] normal3_129280/k1/two_level" in seen.err
    run = read_run(out)
    assert run.result.verdict == "pass"
    names = {"manifest.json", "run.json", "env.json", "rows.parquet", "verdict.json", "report.html", "summary.md"}
    assert {entry.name for entry in out.iterdir()} == names
    assert "time" in run.env
    assert b"time" not in (out / "verdict.json").read_bytes()


def test_two_runs_differ_in_env_json_alone(tmp_path: Path) -> None:
    for name in ("a.repro", "b.repro"):
        assert main([*SMALL, "-q", "--out", str(tmp_path / name)]) == 0
    for entry in (tmp_path / "a.repro").iterdir():
        if entry.name not in ("env.json", "manifest.json"):
            assert entry.read_bytes() == (tmp_path / "b.repro" / entry.name).read_bytes(), entry.name


@pytest.mark.parametrize(
    ("candidate", "code", "verdict"),
    [("right", 0, "pass"), ("wrong", 1, "drift"), ("short", 4, "not_comparable"), ("broken", 70, "error")],
)
def test_exit_codes_follow_the_verdict(
    candidate: str, code: int, verdict: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*OWN, "--candidate", f"own_sampler:{candidate}"]
    assert main(argv) == code
    assert f"verdict      {verdict} (exit code {code})" in capsys.readouterr().out
    assert main([*argv, "--exit-zero"]) == 0


def test_json_on_stdout_is_the_verdict_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*OWN, "--candidate", "own_sampler:wrong", "--json", "--out", "x.repro"]) == 1
    seen = capsys.readouterr()
    assert seen.out == (here / "x.repro" / "verdict.json").read_text()
    assert json.loads(seen.out)["verdict"] == "drift"
    assert seen.err == ""


@pytest.mark.parametrize(
    ("argv", "known"),
    [
        (["--suite", "nothing"], "sampling"),
        (["--case", "nothing*"], "real/"),
        (["--case", "real/*", "--case", "nothing*"], "real/"),
        (["--candidate", "nothing"], "fused_sample"),
        (["--baseline", "recorded:nothing"], "deepinfer-0.1.0"),
        (["--candidate", "own_sampler:nothing"], "own_sampler"),
        (["--candidate", "own_sampler:value"], "function"),
        (["--candidate", "no_such_module:f"], "no_such_module"),
        (["--backend", "nothing"], "reference"),
        (["--outputs", "nothing"], "tokens"),
        (["--out", "x"], ".repro"),
    ],
)
def test_unknown_names_are_one_line_with_the_known(
    argv: list[str], known: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *argv]) == 2
    seen = capsys.readouterr()
    assert (seen.out, seen.err.count("\n")) == ("", 1)
    assert known in seen.err
    assert sorted(entry.name for entry in here.iterdir() if entry.name != "__pycache__") == ["own_sampler.py"]


def test_a_foreign_folder_is_refused_before_any_work(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine.repro").mkdir()
    (here / "mine.repro" / "thesis.txt").write_text("mine")
    assert main([*OWN, "--candidate", "own_sampler:broken", "--out", "mine.repro"]) == 2
    assert "left as it is" in capsys.readouterr().err
    assert (here / "mine.repro" / "thesis.txt").read_text() == "mine"


def test_report_renders_the_folder_s_own_bytes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*OWN, "--candidate", "own_sampler:wrong", "--out", "x.repro"])
    for name in ("one", "two"):
        assert main(["report", "x.repro", "--html", f"{name}.html", "--markdown", f"{name}.md"]) == 0
        assert (here / f"{name}.html").read_bytes() == (here / "x.repro" / "report.html").read_bytes()
        assert (here / f"{name}.md").read_bytes() == (here / "x.repro" / "summary.md").read_bytes()
    capsys.readouterr()
    assert main(["report", "x.repro"]) == 0
    assert capsys.readouterr().out == (here / "one.md").read_text()
    read_run(here / "x.repro")


def test_report_of_a_changed_folder_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*OWN, "--candidate", "own_sampler:right", "--out", "x.repro"])
    with open(here / "x.repro" / "run.json", "a") as file:
        file.write(" ")
    assert main(["report", "x.repro", "--html", "page.html"]) == 2
    assert "run.json was changed" in capsys.readouterr().err
    assert not (here / "page.html").exists()
    assert main(["report", "nothing.repro"]) == 2
    assert main(["report", "."]) == 2


def test_on_a_terminal_there_is_a_table_and_colour_unless_refused(here: Path) -> None:
    argv = [sys.executable, "-m", "repro", *OWN[:-1], "--candidate", "own_sampler:wrong"]
    root = str(Path(__file__).parents[3])
    for no_color in (False, True):
        env = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": root, "COLUMNS": "180"}
        env.pop("NO_COLOR", None)
        if no_color:
            env["NO_COLOR"] = "1"
        leader, follower = pty.openpty()
        with subprocess.Popen(argv, stdout=follower, stderr=subprocess.PIPE, env=env, cwd=here):
            os.close(follower)
            seen = b""
            while chunk := _read(leader):
                seen += chunk
        os.close(leader)
        assert (b"\x1b[31m" in seen) is not no_color
        assert "✗".encode() in seen


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""

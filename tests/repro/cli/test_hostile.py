"""Sides and arguments that would end the program in their own way: never green, one line, the right exit code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from repro.cli import main

HOSTILE = """
import sys

class Odd(BaseException):
    pass

def odd(inputs):
    raise Odd("not an Exception")

def leaves(inputs):
    sys.exit(0)
"""
RUN = ["run", "-q", "--case", "real/k50p.9/*", "--outputs", "tokens", "--candidate"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hostile_kernels.py").write_text(HOSTILE)
    (tmp_path / "hostile_script.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_script_that_exits_at_import_is_no_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "hostile_script:f"]) == 2
    assert "cannot import 'hostile_script' (SystemExit: 0)" in capsys.readouterr().err


@pytest.mark.parametrize("side", ["--candidate", "--baseline"])
def test_an_empty_side_is_no_default(folder: Path, capsys: pytest.CaptureFixture[str], side: str) -> None:
    assert main([*RUN[:-1], side, ""]) == 2
    assert "unknown subject ''" in capsys.readouterr().err


@pytest.mark.parametrize("function", ["odd", "leaves"])
def test_a_side_that_ends_in_its_own_way_is_an_error(folder: Path, function: str) -> None:
    assert main([*RUN, f"hostile_kernels:{function}"]) == 70


@pytest.mark.parametrize("first", ["-1", str(2**62), str(2**64 - 1), str(10**30)])
def test_positions_out_of_range(folder: Path, capsys: pytest.CaptureFixture[str], first: str) -> None:
    np.savez(folder / "x.npz", logits=np.zeros((2, 3), np.float32))
    assert main(["sample", "x.npz", "--seed", "1", "-q", "--positions", first]) == 2
    assert capsys.readouterr().err.count("\n") == 1

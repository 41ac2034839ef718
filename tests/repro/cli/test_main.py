"""Every way to end has its exit code, and help is quick."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from deepinfer import __version__
from repro.cli import main
from repro.cli.group import COMMANDS, LazyGroup

HEAVY = ("numpy", "scipy", "matplotlib", "pandas", "pyarrow", "statsmodels", "jinja2", "torch", "triton", "rich")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def raise_in_command(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the command `env` raise `error`."""

    @click.command()
    def command() -> None:
        raise error

    monkeypatch.setattr(LazyGroup, "get_command", lambda self, ctx, name: command)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom repro.cli import main\n"
        f"code = main(['--help'])\nprint(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\nsys.exit(code)"
    )
    done = python("-c", code)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in COMMANDS)


def test_help_is_quick() -> None:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        assert python("-m", "repro", "--help").returncode == 0
        times.append(time.perf_counter() - start)
    assert min(times) < 0.4 * (1 + 4 * (os.getloadavg()[0] > 1))  # a busy machine is given more


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_of_a_command_imports_nothing_heavy(name: str) -> None:
    code = (
        f"import sys\nfrom repro.cli import main\ncode = main([{name!r}, '--help'])\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\nsys.exit(code)"
    )
    done = python("-c", code)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_module_exit_code() -> None:
    assert python("-m", "repro", "nothing").returncode == 2


@pytest.mark.parametrize(
    "argv",
    [["nothing"], ["--nothing"], ["env", "--nothing"], ["env", "extra"], ["sample"], ["run", "--suite"]],
)
def test_usage_is_one_line_and_code_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.startswith("repro: error: ")
    assert seen.err.count("\n") == 1


def test_no_command_shows_help_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Commands" in capsys.readouterr().err


def test_unknown_command_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    main(["nothing"])
    line = capsys.readouterr().err
    assert all(name in line for name in COMMANDS)


def test_internal_error_is_70_with_a_saved_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    raise_in_command(monkeypatch, RuntimeError("two\nlines"))
    assert main(["env"]) == 70
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    (saved,) = tmp_path.iterdir()
    assert str(saved) in line
    assert "RuntimeError: two" in saved.read_text()


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raise_in_command(monkeypatch, KeyboardInterrupt())
    assert main(["env"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_file_error_names_the_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raise_in_command(monkeypatch, PermissionError(13, "Permission denied", "/locked"))
    assert main(["env"]) == 2
    assert capsys.readouterr().err == "repro: error: /locked: Permission denied\n"


def test_closed_pipe_is_quiet() -> None:
    first, second = os.pipe()
    os.close(first)
    done = subprocess.run([sys.executable, "-m", "repro", "env"], stdout=second, stderr=subprocess.PIPE, check=False)
    os.close(second)
    assert done.stderr == b""
    assert done.returncode == 141


def test_env_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    assert main(["env", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["packages"]["numpy"]
    assert found["abilities"]["backend reference"] == "yes"

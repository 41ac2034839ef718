"""Runs another program for a subject: its own process group, a time limit, and the end of what it said."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

TAIL_BYTES, TAIL_LINES, TAIL_CHARACTERS = 4096, 3, 300


class ProgramFailed(RuntimeError):
    """The program could not be started, ended with a code, or was stopped: one line with its last words."""


def run_program(command: Sequence[str], folder: Path, timeout: float) -> None:
    """Run `command` with nothing on stdin; what it prints goes to a file in `folder`. Whatever it started in its group
    is killed with its end. Raises ProgramFailed."""
    log = folder / "log"
    with open(log, "wb") as file:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            raise ProgramFailed(f"{command[0]} cannot be started: {error.strerror}") from None
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProgramFailed(f"{command[0]} was stopped after {timeout:g} s{said(log)}") from None
        finally:
            _kill_group(process)
    if code:
        how = f"ended with code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
        raise ProgramFailed(f"{command[0]} {how}{said(log)}")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def said(log: Path) -> str:
    """The last lines of a log as the end of a sentence; nothing where there are none."""
    with open(log, "rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        text = file.read().decode(errors="replace")
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    last = "".join(sign if sign.isprintable() else "?" for sign in " | ".join(lines[-TAIL_LINES:]))
    return f": {last[-TAIL_CHARACTERS:]}" if last else ""

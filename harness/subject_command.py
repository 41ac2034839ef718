"""A subject that is any program: it reads IN.safetensors and writes OUT.safetensors."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deepinfer.errors import InputError
from harness.case import Inputs, Outputs
from harness.child import ProgramFailed, run_program
from harness.tensor_file import read_arrays, to_bytes

TIMEOUT = 600.0
ASKED = "repro.outputs"
"""The metadata entry of IN.safetensors with the names of the outputs that are asked for, a JSON list."""
IN, OUT = "{in}", "{out}"


@dataclass(frozen=True)
class CommandSubject:
    """`command` with the two paths in the place of `{in}` and `{out}`, or behind it where it has neither.

    Inputs that are arrays are tensors of IN, the others JSON in its metadata under their names. A program that does not
    end with code 0 within `timeout` seconds, or leaves no whole file of numbers, fails the case.
    """

    command: tuple[str, ...]
    answers: tuple[str, ...] = ("tokens",)
    timeout: float = TIMEOUT

    @property
    def describe(self) -> str:
        return f"command {shlex.join(self.command)}"

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        with tempfile.TemporaryDirectory(prefix="repro-", ignore_cleanup_errors=True) as made:
            folder = Path(made)
            given, answer = folder / "IN.safetensors", folder / "OUT.safetensors"
            given.write_bytes(to_bytes(inputs, {ASKED: json.dumps(outputs)}))
            run_program(_filled(self.command, given, answer), folder, self.timeout)
            try:
                return Outputs(read_arrays(answer))
            except ValueError as error:
                raise ProgramFailed(f"{self.command[0]} {error}") from None


def _filled(command: Sequence[str], given: Path, answer: Path) -> list[str]:
    """The command with its paths."""
    if not any(sign in part for part in command for sign in (IN, OUT)):
        return [*command, str(given), str(answer)]
    return [part.replace(IN, str(given)).replace(OUT, str(answer)) for part in command]


def command_subject(text: str, outputs: Sequence[str] = ("tokens",), timeout: float = TIMEOUT) -> CommandSubject:
    """A subject from a command line, split as a shell would (no shell runs). Raises InputError for an empty one, and
    for `outputs` that are no names."""
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"command {text!r} cannot be split ({error}): quote it as for a shell") from None
    if not command:
        raise InputError("command: without a program: give command:PROGRAM ARGS")
    if not outputs or not all(outputs):
        raise InputError(f"command outputs {list(outputs)!r}: give names such as command[tokens,lse]:PROGRAM ARGS")
    return CommandSubject(command, tuple(outputs), timeout)

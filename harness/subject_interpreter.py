"""A subject that runs in another Python interpreter: other versions, or a package of the same import name."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from deepinfer.errors import InputError
from harness import interpreter_runner
from harness.case import Inputs, Outputs
from harness.child import ProgramFailed, run_program
from harness.tensor_file import read_arrays, to_bytes

TIMEOUT = 600.0


@dataclass(frozen=True)
class InterpreterSubject:
    """`module:function` called by `python` in a process of its own for every answer.

    The function is given a dict of the inputs and returns what a CallableSubject may return. Modules are looked for
    where that interpreter has them installed, then in the current folder, then in `root`. `extra` are inputs that it is
    given besides. The versions found there are told with the answer.
    """

    python: str
    module: str
    function: str
    timeout: float = TIMEOUT
    extra: Mapping[str, Any] = field(default_factory=dict)
    root: str = ""

    @property
    def describe(self) -> str:
        return f"{self.module}:{self.function} in {self.python}"

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The function's attribute `outputs`, asked for there. Raises InputError where it cannot be imported."""
        with tempfile.TemporaryDirectory(prefix="repro-", ignore_cleanup_errors=True) as made:
            facts = Path(made) / "facts.json"
            try:
                run_program(self._command(facts), Path(made), self.timeout)
                named = json.loads(facts.read_bytes())["outputs"]
            except ProgramFailed as error:
                raise InputError(f"{self.describe}: {error}") from None
            except (OSError, ValueError, KeyError, TypeError):
                raise InputError(f"{self.describe} did not say what it answers: give a working interpreter") from None
        if not isinstance(named, list) or not named or not all(isinstance(name, str) and name for name in named):
            raise InputError(f"{self.module}:{self.function}.outputs is {named!r}: give a tuple of output names")
        return tuple(named)

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        with tempfile.TemporaryDirectory(prefix="repro-", ignore_cleanup_errors=True) as made:
            folder = Path(made)
            facts, given, answer = (folder / name for name in ("facts.json", "IN.safetensors", "OUT.safetensors"))
            asked = {interpreter_runner.ASKED: json.dumps(outputs)}
            given.write_bytes(to_bytes({**inputs, **self.extra}, asked))
            run_program([*self._command(facts), str(given), str(answer)], folder, self.timeout)
            try:
                return Outputs(read_arrays(answer), ran=_told(facts))
            except ValueError as error:
                raise ProgramFailed(f"{self.describe} {error}") from None

    def _command(self, facts: Path) -> list[str]:
        return [self.python, interpreter_runner.__file__, self.module, self.function, self.root, str(facts)]


def _told(facts: Path) -> str:
    """`python 3.11.2, numpy 1.26.4`; ValueError where the file is not what the runner writes."""
    try:
        found = json.loads(facts.read_bytes())
        return ", ".join(f"{name} {version}" for name, version in found.items() if name != "outputs")
    except (OSError, ValueError, AttributeError):
        raise ValueError("left no versions") from None


def interpreter_subject(python: str, module: str, function: str, timeout: float = TIMEOUT) -> InterpreterSubject:
    """`module:function` in the interpreter `python`. Raises InputError where that is no file, or a name is empty."""
    if not module or not function:
        raise InputError(f"{module!r}:{function!r} is no function: give python:/path/to/python:module:function")
    return InterpreterSubject(_checked(python), module, function, timeout)


def sampler_elsewhere(python: str, backend: str, timeout: float = TIMEOUT) -> InterpreterSubject:
    """This project's `fused_sample` on `backend` in the interpreter `python`, which needs numpy and safetensors alone:
    the project itself comes from there where it is installed, else from here."""
    root = str(Path(interpreter_runner.__file__).parents[1])
    extra = {"backend": backend}
    return InterpreterSubject(_checked(python), "harness.sampler_entry", "fused_sample", timeout, extra, root)


def _checked(python: str) -> str:
    if not Path(python).is_file():
        raise InputError(f"no interpreter at {python!r}: give python:/path/to/python, or that with :module:function")
    return python

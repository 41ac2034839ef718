"""From the words of a command line to a subject."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from deepinfer.errors import InputError, unknown_name
from deepinfer.sampling import BACKENDS
from harness import recorded
from harness.recording_file import one_line
from harness.subject_command import command_subject
from harness.subject_interpreter import interpreter_subject, sampler_elsewhere
from harness.subjects import AnsweringSubject, SamplerSubject, callable_subject, recorded_subject


def parse_subject(text: str, *, backend: str, entry: tuple[str, str] | None = None) -> AnsweringSubject:
    """The subject that a command line names.

    `two_level`, `fused_sample`, `exact_sample` (on `backend`), `recorded:deepinfer-0.1.0`, `recorded:PATH` (which
    need `entry`, the (kind, config) of the suite's case), `module:function`, `python:PATH:module:function` (in another
    interpreter; `python:PATH` alone is `fused_sample` there, on `backend`), `command:PROGRAM ARGS` or
    `command[OUTPUT,...]:PROGRAM ARGS`.
    """
    head, colon, rest = text.partition(":")
    if not colon:
        if head not in BACKENDS:
            raise unknown_name("subject", text, known_subjects())
        return SamplerSubject(head, backend)
    if head == "recorded":
        if entry is None:
            raise InputError(f"{text!r} answers the cases of a suite only: run it with a suite")
        return recorded_subject(rest, *entry)
    if head == "python":
        return _elsewhere(text, rest, backend)
    if head == "command" or (head.startswith("command[") and head.endswith("]")):
        named = head.removeprefix("command")[1:-1]
        return command_subject(rest, named.split(",") if head != "command" else ("tokens",))
    return callable_subject(import_function(head, rest), text)


def _elsewhere(text: str, rest: str, backend: str) -> AnsweringSubject:
    path, *function = rest.split(":")
    if not function:
        return sampler_elsewhere(path, backend)
    if len(function) != 2:
        raise InputError(f"{text!r} is no interpreter's function: give python:/path/to/python:module:function")
    return interpreter_subject(path, function[0], function[1])


def known_subjects() -> tuple[str, ...]:
    """The forms that parse_subject takes."""
    recording = f"recorded:{recorded.RECORDING}"
    elsewhere = "python:PATH[:module:function]", "command:PROGRAM ARGS"
    return (*BACKENDS, recording, "recorded:PATH", "module:function", *elsewhere)


def import_function(module: str, name: str) -> Callable[[dict[str, Any]], Any]:
    """`module:name`, imported; anything that goes wrong while importing is one line."""
    try:
        imported = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a script may end its process where it is imported
        raise InputError(
            f"cannot import {module!r} ({one_line(error)}): give module:function from the current folder or PYTHONPATH"
        ) from None
    if not hasattr(imported, name):
        raise InputError(f"module {module!r} has no {name!r}: give module:function")
    found = getattr(imported, name)
    if not callable(found):
        raise InputError(f"{module}:{name} is a {type(found).__name__}: give a function of a dict of inputs")
    function: Callable[[dict[str, Any]], Any] = found
    return function

"""Asks a subject in a fresh Python process, there once more on perturbed memory.

The subject and its inputs are pickled to a child of our own and its answer comes back the same way; nothing of that
touches a file.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
from typing import IO, Any

import numpy as np

from harness.case import Array, Inputs, Outputs, Subject
from harness.recording_file import one_line

BOOT = (
    "import pickle, sys; stream = sys.stdin.buffer; sys.path[:] = pickle.load(stream)\n"
    "from harness.fresh_process import serve; serve(stream)"
)
M_PERTURB, PATTERN = -6, 0x5A
TIMEOUT = 600.0


class NotPossible(Exception):
    """The subject cannot be built again in another process."""


class Failed(Exception):
    """The subject failed there."""


def answer_elsewhere(subject: Subject, inputs: Inputs, outputs: tuple[str, ...]) -> tuple[Outputs, Outputs | None]:
    """Its answer in a fresh process, and there again with unset memory filled with a pattern (None: not with this C
    library). Raises NotPossible where it cannot be sent or rebuilt, Failed where it raises, crashes or takes more
    than TIMEOUT seconds."""
    try:
        sent = pickle.dumps(sys.path) + pickle.dumps((subject, dict(inputs), outputs))
    except Exception as error:
        raise NotPossible(f"it cannot be sent ({one_line(error)})") from None
    try:
        done = subprocess.run(
            [sys.executable, "-c", BOOT], input=sent, capture_output=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"no answer within {TIMEOUT:g} s") from None
    if done.returncode or not done.stdout:
        tail = " ".join(done.stderr.decode(errors="replace").split())[-300:]
        raise Failed(f"the process ended with code {done.returncode}: {tail}")
    kind, first, second = pickle.loads(done.stdout)
    if kind == "not possible":
        raise NotPossible(first)
    if kind == "failed":
        raise Failed(first)
    return Outputs(first), None if second is None else Outputs(second)


def serve(stream: IO[bytes]) -> None:
    """The child: read the question, write the answer to what was stdout; anything printed goes to stderr."""
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        pickle.dump(_reply(stream), out)


def _reply(stream: IO[bytes]) -> tuple[str, Any, Any]:
    try:
        subject, inputs, outputs = pickle.load(stream)
    except Exception as error:
        return "not possible", f"it cannot be rebuilt there ({one_line(error)})", None
    try:
        first = _ask(subject, inputs, outputs)
        return "answered", first, _ask(subject, inputs, outputs) if _perturb() else None
    except (Exception, SystemExit) as error:
        return "failed", one_line(error), None


def _ask(subject: Subject, inputs: Inputs, outputs: tuple[str, ...]) -> dict[str, Array]:
    given = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in inputs.items()}
    return {name: np.array(array) for name, array in subject(given, outputs).arrays.items()}


def _perturb() -> bool:
    """Have malloc fill what it hands out and takes back. Returns whether this C library can."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(M_PERTURB, PATTERN))

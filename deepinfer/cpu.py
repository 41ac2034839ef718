"""SIMD levels, threads and array addresses: the arguments that every native kernel takes. Nothing is compiled here."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from deepinfer.errors import InputError, unknown_name


class Level(IntEnum):
    """A SIMD width that every CPU kernel is built for; the number is what a kernel receives."""

    SCALAR = 0
    AVX2 = 1
    AVX512 = 2


LEVEL_FLAGS: dict[Level, tuple[str, ...]] = {
    Level.SCALAR: (),
    Level.AVX2: ("-mavx2", "-mfma", "-mbmi2"),
    Level.AVX512: ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma", "-mbmi2"),
}


def built_levels() -> tuple[Level, ...]:
    """The levels that a library on this kind of machine contains: all on x86-64, only scalar elsewhere."""
    return tuple(Level) if platform.machine() in ("x86_64", "AMD64") else (Level.SCALAR,)


@functools.cache
def supported_levels() -> tuple[Level, ...]:
    """The levels that this CPU can run, read from /proc/cpuinfo (elsewhere than on Linux: scalar alone)."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return (Level.SCALAR,)
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    flags = set(found.group(1).split()) if found else set()
    return tuple(level for level in built_levels() if {flag.removeprefix("-m") for flag in LEVEL_FLAGS[level]} <= flags)


def best_level() -> Level:
    """The widest supported level: the default of every native kernel. Results never depend on it."""
    return supported_levels()[-1]


def check_level(level: int | str | None) -> Level:
    """`level` (a Level, its number, its name in lower case, or None for best_level()) if this CPU runs it."""
    if level is None:
        return best_level()
    for known in supported_levels():
        if level in (known, known.name.lower()):
            return known
    raise unknown_name("SIMD level on this CPU", level, [known.name.lower() for known in supported_levels()])


def default_threads() -> int:
    """The default number of threads: the CPUs this process may run on. Results never depend on it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """`threads` (None: default_threads()) if it is 1 to 1024."""
    if threads is None:
        return default_threads()
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise InputError(f"threads is {threads!r}: give an integer from 1 to 1024")
    return threads


def pointer(
    array: NDArray[Any] | None, dtype: DTypeLike, *, write: bool = False, name: str = "array"
) -> ctypes.c_void_p:
    """The address of a C-contiguous array of exactly `dtype` (None: a null pointer); writable where `write`.

    The caller keeps the array alive during the call.
    """
    if array is None:
        return ctypes.c_void_p()
    if array.dtype != np.dtype(dtype) or not array.flags.c_contiguous or (write and not array.flags.writeable):
        wanted = f"a {'writable ' if write else ''}C-contiguous {np.dtype(dtype)} array"
        raise InputError(f"{name} has dtype {array.dtype} and strides {array.strides}: give {wanted}")
    return ctypes.c_void_p(array.ctypes.data)

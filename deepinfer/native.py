"""The only caller of a compiler: C++ and CUDA sources of `csrc/` become shared libraries on first use.

To add a kernel NAME:

1. `csrc/cpu/NAME.cpp` holds the arithmetic inside `namespace SIMD_NAMESPACE { ... }`. It is compiled once a SIMD level,
   with `SIMD_LEVEL` 0 (scalar), 1 (AVX2) or 2 (AVX-512) defined; `#include "simd.h"` supplies the namespace's name.
2. `csrc/cpu/NAME_dispatch.cpp` holds the C ABI and the threads, and is compiled once. It declares each kernel with
   `SIMD_DECLARE(...)`, exports `SIMD_EXPORT int NAME_run(int level, int threads, ...)`, picks a level with
   `SIMD_CALL(level, function, arguments)` and splits rows with `parallel_ranges` of `threads.h`.
3. Headers shared by both lie in `csrc/include/` and are included with quotes. Every function in a header is
   `static inline`: objects built for different CPUs share one library, and must not share a function.
4. Python calls `load("NAME").NAME_run(check_level(level), check_threads(threads), pointer(x, np.float32), ...)`; an
   argument that is not a C int is wrapped (`ctypes.c_int64(n)`, `ctypes.c_float(x)`), ctypes passes ints as 32 bits.

Products are never contracted into fused multiply-adds (-ffp-contract=off); write `fma` where it is meant. No flag
depends on the machine that builds, so one cached library serves every x86-64 machine and every level in it.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


FLAGS = ("-std=c++17", "-O3", "-fPIC", "-pthread", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden")
LEVEL_FLAGS: dict[Level, tuple[str, ...]] = {
    Level.SCALAR: (),
    Level.AVX2: ("-mavx2", "-mfma", "-mbmi2"),
    Level.AVX512: ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma", "-mbmi2"),
}
CUDA_FLAGS = ("-std=c++17", "-O3", "--fmad=false", "-Xcompiler", "-fPIC,-fvisibility=hidden", "-shared")
JOBS = 2
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


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


def source_root() -> Path:
    """The folder of the C++ and CUDA sources: `_csrc` in an installed package, `../csrc` in a checkout."""
    here = Path(__file__).resolve().parent
    for root in (here / "_csrc", here.parent / "csrc"):
        if root.is_dir():
            return root
    raise InputError(f"no C++ sources in {here / '_csrc'} or {here.parent / 'csrc'}: reinstall deepinfer-repro")


def cache_root() -> Path:
    """Where compiled libraries are kept: `deepinfer-repro` in $XDG_CACHE_HOME, or in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "deepinfer-repro"


@functools.cache
def load(name: str) -> ctypes.CDLL:
    """The library of csrc/cpu/NAME.cpp with its C ABI, built on the first call for this source and compiler.

    Raises InputError for a name without a source, a missing compiler, a failing compile or an unwritable cache.
    Safe beside other threads and processes doing the same: each builds its own file and renames it into place.
    """
    root = source_root()
    kernel, dispatch = root / "cpu" / f"{name}.cpp", root / "cpu" / f"{name}_dispatch.cpp"
    if not kernel.is_file() or not dispatch.is_file():
        raise unknown_name("native kernel", name, sorted(p.stem for p in (root / "cpu").glob("*.cpp")))
    compiler = _cpu_compiler(name)
    levels = built_levels()
    common = [*FLAGS, f"-DSIMD_LEVELS={len(levels)}"]
    units = [(dispatch, common)]
    units += [(kernel, [*common, *LEVEL_FLAGS[level], f"-DSIMD_LEVEL={level.value}"]) for level in levels]
    key = _key([kernel, dispatch], root, [compiler, *(flags for _, flags in units)])

    def build(folder: Path, target: Path) -> None:
        objects = [str(folder / f"{index}.o") for index in range(len(units))]
        commands = [
            [*compiler, *flags, f"-I{root / 'include'}", "-c", str(source), "-o", made]
            for (source, flags), made in zip(units, objects, strict=True)
        ]
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(_run, commands))
        _run([*compiler, "-shared", "-pthread", *objects, "-o", str(target)])  # lowest level first: see simd.h

    return _open(f"{name}-{key}.so", build)


@functools.cache
def load_cuda(name: str, arch: str = "sm_90") -> ctypes.CDLL:
    """The library of csrc/cuda/NAME.cu for GPUs of `arch`, built by nvcc ($NVCC, or found on PATH). It loads without a
    GPU; what it exports reports the missing device. Errors as in `load`."""
    root = source_root()
    source = root / "cuda" / f"{name}.cu"
    if not source.is_file():
        raise unknown_name("CUDA kernel", name, sorted(p.stem for p in (root / "cuda").glob("*.cu")))
    command = shlex.split(os.environ.get("NVCC", "")) or ["nvcc"]
    if shutil.which(command[0]) is None:
        raise InputError(
            f"CUDA kernel {name!r} needs nvcc, and {command[0]!r} is not found: install a CUDA toolkit (or set NVCC), "
            "or use backend='native'"
        )
    flags = [*CUDA_FLAGS, f"-arch={arch}"]
    key = _key([source], root, [command, flags])

    def build(_: Path, target: Path) -> None:
        _run([*command, *flags, f"-I{root / 'include'}", str(source), "-o", str(target)])

    return _open(f"{name}-{arch}-{key}.so", build)


def _cpu_compiler(name: str) -> list[str]:
    chosen = shlex.split(os.environ.get("CXX", ""))
    for command in [chosen] if chosen else [["g++"], ["clang++"]]:
        if shutil.which(command[0]):
            return command
    missing = f", and CXX={chosen[0]!r} is not found" if chosen else ""
    raise InputError(
        f"native kernel {name!r} needs a C++ compiler (g++ or clang++, or set CXX){missing}: install one, "
        "or use backend='reference'"
    )


def _key(sources: list[Path], root: Path, commands: list[list[str]]) -> str:
    """Names what a build depends on: its sources with all they include, the compiler and its version, the flags."""
    digest = hashlib.sha256()
    waiting, seen = list(sources), set[Path]()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        text = path.read_text()
        digest.update(f"{path.name}\0{len(text)}\0{text}".encode())
        folders = (path.parent, root / "include")
        waiting += [folder / included for included in INCLUDE.findall(text) for folder in folders]
    compiler = commands[0]
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False).stdout
    digest.update(repr((shutil.which(compiler[0]), version, platform.machine(), commands)).encode())
    return digest.hexdigest()[:20]


def _open(filename: str, build: Callable[[Path, Path], None]) -> ctypes.CDLL:
    """Load `filename` from the cache; where it is absent, `build(folder, target)` first."""
    path = cache_root() / filename
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent, prefix="build-") as folder:
                made = Path(folder) / filename
                build(Path(folder), made)
                os.replace(made, path)
        except OSError as error:
            raise InputError(
                f"cannot write the build cache {path.parent} ({error.strerror}): set XDG_CACHE_HOME to a folder "
                "that can be written"
            ) from None
    return ctypes.CDLL(str(path))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        first = next((line for line in lines if "error" in line), lines[0])
        raise InputError(f"compiling failed: {first.strip()} (command: {shlex.join(command)})")

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
from pathlib import Path

from deepinfer.cpu import (
    LEVEL_FLAGS,
    Level,
    best_level,
    built_levels,
    check_level,
    check_threads,
    default_threads,
    pointer,
    supported_levels,
)
from deepinfer.errors import InputError, unknown_name

__all__ = [
    "Level",
    "best_level",
    "check_level",
    "check_threads",
    "default_threads",
    "load",
    "load_cuda",
    "load_oracle",
    "pointer",
    "supported_levels",
]

FLAGS = ("-std=c++17", "-O3", "-fPIC", "-pthread", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden")
CUDA_FLAGS = ("-std=c++17", "-O3", "--fmad=false", "-Xcompiler", "-fPIC,-fvisibility=hidden", "-shared")
JOBS = 2
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


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
        found = (root / "cpu").glob("*_dispatch.cpp")
        raise unknown_name("native kernel", name, sorted(path.stem.removesuffix("_dispatch") for path in found))
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


@functools.cache
def load_oracle(name: str, include: tuple[Path, ...], version: str) -> ctypes.CDLL:
    """The library of csrc/oracle/NAME.cpp, one unit compiled against another project's headers in `include`.

    `version` says which headers they are: a new one builds anew. Errors as in `load`.
    """
    source = source_root() / "oracle" / f"{name}.cpp"
    compiler = _cpu_compiler(name)
    flags = [*FLAGS, "-shared", *(f"-isystem{folder}" for folder in include)]
    key = _key([source], source_root(), [compiler, flags, [version]])
    return _open(f"{name}-{key}.so", lambda _, target: _run([*compiler, *flags, str(source), "-o", str(target)]))


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

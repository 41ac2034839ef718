"""The build seam: what is built, when, from what, and what it says when it cannot."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from deepinfer import cpu, native
from deepinfer.cpu import Level
from deepinfer.errors import InputError

ROOT = Path(__file__).parents[2]

KERNEL = (
    '#include "simd.h"\n#include "answer.h"\nnamespace SIMD_NAMESPACE { int answer() { return ANSWER + SIMD_LEVEL; } }'
)
DISPATCH = """
#include "simd.h"
SIMD_DECLARE(int answer())
SIMD_EXPORT int answer_run(int level) { return SIMD_CALL(level, answer); }
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of sources with one small kernel, and an empty cache."""
    root = tmp_path / "csrc"
    (root / "cpu").mkdir(parents=True)
    (root / "include").mkdir()
    (root / "include" / "simd.h").write_text((ROOT / "csrc/include/simd.h").read_text())
    (root / "include" / "answer.h").write_text("#define ANSWER 40\n")
    (root / "cpu" / "answer.cpp").write_text(KERNEL)
    (root / "cpu" / "answer_dispatch.cpp").write_text(DISPATCH)
    monkeypatch.setattr(native, "source_root", lambda: root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return root


@pytest.fixture
def small(sources: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, built for one level: quicker where the levels do not matter."""
    monkeypatch.setattr(native, "built_levels", lambda: (Level.SCALAR,))
    return sources


def fresh(name: str) -> ctypes.CDLL:
    """`load` as a new process would find it."""
    return native.load.__wrapped__(name)


def cached(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache" / "deepinfer-repro").iterdir())


def test_one_library_holds_every_level(sources: Path) -> None:
    library = fresh("answer")
    assert [library.answer_run(level) for level in cpu.supported_levels()] == [
        40 + level for level in cpu.supported_levels()
    ]


def test_a_second_process_uses_the_cached_library(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh("answer")
    made = cached(tmp_path)
    assert len(made) == 1

    def refuse(command: list[str]) -> None:
        raise AssertionError(f"compiled again: {command}")

    monkeypatch.setattr(native, "_run", refuse)
    assert fresh("answer").answer_run(0) == 40
    assert cached(tmp_path) == made


def test_a_changed_header_builds_anew(small: Path, tmp_path: Path) -> None:
    assert fresh("answer").answer_run(0) == 40
    (small / "include" / "answer.h").write_text("#define ANSWER 50\n")
    assert fresh("answer").answer_run(0) == 50
    assert len(cached(tmp_path)) == 2


def test_a_changed_flag_builds_anew(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh("answer")
    monkeypatch.setattr(native, "FLAGS", (*native.FLAGS, "-DUNUSED"))
    fresh("answer")
    assert len(cached(tmp_path)) == 2


def test_builds_at_the_same_time_do_no_harm(small: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: fresh("answer").answer_run(0), range(2)))
    assert answers == [40, 40]
    assert len(cached(tmp_path)) == 1  # and nothing half made is left


def test_a_failing_compile_shows_the_first_error_and_the_command(small: Path, tmp_path: Path) -> None:
    (small / "cpu" / "answer.cpp").write_text("int broken( {\n")
    with pytest.raises(
        InputError, match=r"^compiling failed: .*answer\.cpp:1.*error.*\(command: .*-std=c\+\+17"
    ) as caught:
        fresh("answer")
    assert "\n" not in str(caught.value)
    assert cached(tmp_path) == []


@pytest.mark.parametrize("cxx", [None, "no-such-compiler"])
def test_no_compiler_is_one_line(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cxx: str | None) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if cxx is None:
        monkeypatch.delenv("CXX", raising=False)
    else:
        monkeypatch.setenv("CXX", cxx)
    with pytest.raises(
        InputError, match=r"^native kernel 'answer' needs a C\+\+ compiler .*backend='reference'$"
    ) as caught:
        fresh("answer")
    assert (f"CXX={cxx!r} is not found" in str(caught.value)) == (cxx is not None)


def test_a_cache_that_cannot_be_written_is_one_line(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"^cannot write the build cache .*: set XDG_CACHE_HOME to a folder"):
        fresh("answer")


def test_unknown_kernel_lists_the_known(small: Path) -> None:
    with pytest.raises(InputError, match=r"^unknown native kernel 'question': known are answer$"):
        fresh("question")


def test_levels() -> None:
    levels = cpu.supported_levels()
    assert levels[0] == Level.SCALAR
    assert cpu.best_level() == levels[-1] == max(levels)
    assert cpu.check_level(None) == cpu.best_level()
    for level in levels:
        assert cpu.check_level(int(level)) == cpu.check_level(level.name.lower()) == level
    for wrong in (3, -1, "sse", "AVX2", 1.5):
        with pytest.raises(InputError, match=r"unknown SIMD level on this CPU"):
            cpu.check_level(wrong)  # type: ignore[arg-type]


def test_a_level_that_the_cpu_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "supported_levels", lambda: (Level.SCALAR,))
    with pytest.raises(InputError, match=r"'avx2': known are scalar"):
        cpu.check_level("avx2")


def test_other_machines_build_scalar_alone(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu.platform, "machine", lambda: "aarch64")
    assert cpu.built_levels() == (Level.SCALAR,)
    assert fresh("answer").answer_run(2) == 40  # one level in the library, whatever is asked for


def test_threads() -> None:
    assert cpu.check_threads(None) == cpu.default_threads() >= 1
    assert cpu.check_threads(1) == 1
    for wrong in (0, -1, 1025, 1.0, "2", True):
        with pytest.raises(InputError, match=r"threads is .*: give an integer from 1 to 1024"):
            cpu.check_threads(wrong)  # type: ignore[arg-type]


def test_pointer_checks_what_it_is_given() -> None:
    array = np.arange(6, dtype=np.float32)
    assert cpu.pointer(array, np.float32).value == array.ctypes.data
    assert cpu.pointer(None, np.float32).value is None
    frozen = array.copy()
    frozen.flags.writeable = False
    assert cpu.pointer(frozen, np.float32).value == frozen.ctypes.data
    for wrong, write in (
        (array.astype(np.float64), False),
        (array[::2], False),
        (array.byteswap().view(">f4"), False),
        (frozen, True),
    ):
        with pytest.raises(InputError, match=r"^logits ha.* C-contiguous float32 array$"):
            cpu.pointer(wrong, np.float32, write=write, name="logits")


def test_importing_compiles_nothing_and_reads_no_environment() -> None:
    code = (
        "import os, subprocess\n"
        "class Closed(dict):\n"
        "    def __getitem__(self, key): raise RuntimeError(key)\n"
        "    get = __contains__ = __getitem__\n"
        "import numpy, ctypes, tempfile, concurrent.futures, importlib.metadata\n"
        "os.environ = Closed()\n"
        "subprocess.run = None\n"
        "import deepinfer.native, deepinfer.rng, deepinfer.rng.native_impl, deepinfer.rng.curand_oracle\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_flag_depends_on_this_machine_or_on_loose_arithmetic() -> None:
    flags = " ".join([*native.FLAGS, *(flag for level in Level for flag in cpu.LEVEL_FLAGS[level]), *native.CUDA_FLAGS])
    assert "-ffp-contract=off" in flags
    assert "--fmad=false" in flags
    for loose in ("-march=native", "-mtune=native", "-ffast-math", "-Ofast", "--use_fast_math", "-funsafe"):
        assert loose not in flags

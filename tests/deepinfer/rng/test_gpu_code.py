"""GPU code without a GPU: it compiles, and says what is missing. Its words are compared where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deepinfer.errors import InputError
from deepinfer.native import load_cuda
from deepinfer.rng import StreamKey, uniform_many, words, words_many

ROOT = Path(__file__).parents[3]
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")

COMPILED_TRITON = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from deepinfer.errors import InputError
from deepinfer.rng import StreamKey, words
from deepinfer.rng.triton_impl import words_kernel
try:
    print(words(StreamKey(42, 0), 0, 4, "triton").tolist())
except InputError as error:
    print(error)
names = ["seeds", "subsequences", "starts", "out", "total", "blocks", "count", "UNIFORM", "TILE"]
types = ["*i64", "*i64", "*i64", "*fp32", "i64", "i64", "i64", "constexpr", "constexpr"]
source = ASTSource(words_kernel, dict(zip(names, types)), {"UNIFORM": True, "TILE": 128})
print(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"])
"""


@pytest.fixture(scope="module")
def compiled_triton() -> tuple[str, str]:
    """What `words` on `triton` says without the interpreter, and the PTX of its kernel."""
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED_TRITON],
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, _, ptx = done.stdout.partition("\n")
    return said, ptx


def test_triton_kernel_compiles_for_sm_90_with_unsigned_arithmetic(compiled_triton: tuple[str, str]) -> None:
    _, ptx = compiled_triton
    assert "mul.hi.u32" in ptx
    assert "cvt.rn.f32.u32" in ptx
    assert "mul.hi.s32" not in ptx
    assert "cvt.rn.f32.s" not in ptx


def test_triton_without_the_interpreter(compiled_triton: tuple[str, str]) -> None:
    said, _ = compiled_triton
    if gpu_is_there():
        assert said == str([0x9CEAF053, 0x77F5493B, 0x12BF50AD, 0x5742B3D7])
    else:
        assert said == (
            "backend 'triton' has no GPU here: set TRITON_INTERPRET=1 before triton is imported, or use backend='torch'"
        )


@needs_nvcc
def test_cuda_source_compiles_and_reports_a_missing_gpu() -> None:
    library = load_cuda("philox")
    for name in ("philox_words", "philox_uniform_floats", "philox_words_host", "philox_uniform_floats_host"):
        assert library[name]
    if not gpu_is_there():
        with pytest.raises(InputError, match=r"^RNG backend 'cuda' has no such GPU \(.*use backend='native'$"):
            words(StreamKey(1, 2), 0, 4, "cuda")


@needs_nvcc
def test_cuda_words_equal_the_reference() -> None:
    if not gpu_is_there():
        pytest.skip("no CUDA GPU")
    random = np.random.default_rng(5)
    keys = [random.integers(0, 2**64, 300, dtype=np.uint64) for _ in range(3)]
    np.testing.assert_array_equal(words_many(*keys, 77, "cuda"), words_many(*keys, 77))
    floats = uniform_many(*keys, 77, "cuda")
    np.testing.assert_array_equal(floats.view(np.uint32), uniform_many(*keys, 77).view(np.uint32))


def gpu_is_there() -> bool:
    import torch

    return torch.cuda.is_available()


def test_no_nvcc_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NVCC", raising=False)
    with pytest.raises(InputError, match=r"^CUDA kernel 'philox' needs nvcc, and 'nvcc' is not found: install"):
        load_cuda.__wrapped__("philox")


def test_unknown_cuda_kernel() -> None:
    with pytest.raises(InputError, match=r"unknown CUDA kernel 'nothing': known are .*philox"):
        load_cuda("nothing")

"""Importing does nothing: no torch, no triton; every core module imports without the extras."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEEDS_EXTRAS = ("torch_impl", "triton_")

BLOCKER = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "triton"}:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocked())
"""


def core_modules() -> list[str]:
    names = []
    for package in ("deepinfer", "harness", "repro"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if not any(part.startswith(NEEDS_EXTRAS) for part in parts):
                names.append(".".join(parts).removesuffix(".__init__"))
    return names


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)


def test_every_core_module_imports_without_torch_and_triton() -> None:
    names = core_modules()
    assert len(names) > 20
    code = BLOCKER + "import importlib, sys\n"
    code += f"for name in {names!r}:\n    importlib.import_module(name)\n"
    code += "assert not {'torch', 'triton'} & set(sys.modules)\n"
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_the_blocker_blocks() -> None:
    assert "torch is blocked" in run(BLOCKER + "import torch").stderr


@pytest.mark.parametrize(
    "call", ["sample('fused_sample', x, backend='triton')", "sample('exact_sample', x, backend='triton')"]
)
def test_an_engine_backend_without_the_engine_says_so_in_one_line(call: str) -> None:
    code = BLOCKER + (
        "import numpy as np\n"
        "from deepinfer.errors import MissingExtra\n"
        "from deepinfer.sampling import SamplerInputs, sample\n"
        "x = SamplerInputs(np.zeros((1, 4), np.float32))\n"
        f"try:\n    {call}\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert "pip install 'deepinfer-repro[engine]'" in done.stdout
    assert done.stdout.count("\n") == 1

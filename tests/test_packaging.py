"""The wheel carries the C++ sources and the recorded data, and works outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(out),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = out.glob("deepinfer_repro-*.whl")
    return built


def test_wheel_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for source in (ROOT / "csrc").rglob("*.*"):
        assert f"deepinfer/_csrc/{source.relative_to(ROOT / 'csrc')}" in names
    for data in (ROOT / "harness" / "data").rglob("*.npz"):
        assert str(data.relative_to(ROOT)) in names
    assert {"deepinfer/py.typed", "harness/py.typed", "repro/py.typed"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith("tests/") for name in names)


def test_wheel_works_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    env = {**os.environ, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    code = (
        "import numpy as np, deepinfer\n"
        "from deepinfer.sampling import SamplerInputs, sample\n"
        "from harness.recorded import load_inputs\n"
        "x = SamplerInputs(np.zeros((2, 5), np.float32), seq_seed=[1, 2])\n"
        "twin = sample('exact_sample', x, backend='reference').tokens\n"
        "assert (sample('exact_sample', x, backend='native').tokens == twin).all()\n"
        "assert load_inputs('real', 'engine')['logits'].shape == (250, 4096)\n"
        "print(deepinfer.__file__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(site))
    version = subprocess.run(
        [sys.executable, "-m", "repro", "--version"], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert version.returncode == 0, version.stderr
    assert "0.1.0" in version.stdout

"""Where the oracle's library and headers come from: the wheels of the extra, and nothing else on the machine."""

from __future__ import annotations

import subprocess
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from deepinfer.errors import MissingExtra
from deepinfer.native import source_root
from deepinfer.rng import curand_oracle


def test_every_header_is_a_wheels_or_the_compilers() -> None:
    """A CUDA toolkit on the machine would hide a wheel that is missing."""
    folders, version = curand_oracle._headers()
    assert version.startswith("nvidia-curand ")
    source = source_root() / "oracle" / "curand_device.cpp"
    command = ["g++", "-std=c++17", "-M", *(f"-isystem{folder}" for folder in folders), str(source)]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    used = [Path(word).resolve() for word in made.replace("\\\n", " ").split()[1:]]
    curand = [path for path in used if path.name.startswith("curand_")]
    assert len(curand) > 5
    standard = (Path("/usr/include"), Path("/usr/lib"))
    for path in used:
        assert path == source or any(path.is_relative_to(x) for x in (*folders, *standard)), path


def test_absent_packages_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> None:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(curand_oracle, "distribution", absent)
    expected = r"^the cuRAND oracle needs 'nvidia-curand', which is not installed: .*deepinfer-repro\[oracle\]'$"
    for find in (curand_oracle._libcurand, curand_oracle._headers):
        with pytest.raises(MissingExtra, match=expected):
            find.__wrapped__()  # type: ignore[attr-defined]

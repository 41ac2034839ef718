"""What this machine is: versions, processor, and which parts of the project can run here."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

CORE = (
    "deepinfer-repro", "blake3", "click", "jinja2", "jsonschema", "matplotlib", "numpy", "pandas", "pyarrow", "rich",
    "safetensors", "scipy", "statsmodels", "xxhash",
)  # fmt: skip
EXTRAS = {"engine": ("torch", "triton"), "oracle": ("nvidia-curand", "nvidia-cuda-runtime", "nvidia-cuda-cccl")}


def facts() -> dict[str, Any]:
    """Versions, machine, abilities; JSON values. The same machine gives the same facts."""
    names = (*CORE, *(name for extra in EXTRAS.values() for name in extra))
    return {
        "abilities": abilities(),
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "cpu": _cpu_model(),
            "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver()),
            "machine": platform.machine(),
            "python": sys.version.split()[0],
            "system": platform.system(),
        },
        "packages": {name: version(name) for name in names},
    }


def abilities() -> dict[str, str]:
    """What can run here: `yes`, or what to do about it."""

    def extra(name: str, *distributions: str) -> str:
        here = all(version(distribution) is not None for distribution in distributions)
        return "yes" if here else f"no: pip install 'deepinfer-repro[{name}]'"

    compiler = shutil.which("c++")
    return {
        "backend native": "yes" if compiler else "no: install a C++ compiler (c++)",
        "backend reference": "yes",
        "backend torch": extra("engine", "torch"),
        "backend triton": extra("engine", "torch", "triton"),
        "cuRAND oracles": extra("oracle", *EXTRAS["oracle"]),
    }


def version(name: str) -> str | None:
    """The installed version of a distribution, None when it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def stamped() -> dict[str, Any]:
    """`facts` with the wall clock and the host's name: what env.json of a run folder holds."""
    return {**facts(), "host": platform.node(), "time": datetime.now(UTC).isoformat(timespec="seconds")}


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()

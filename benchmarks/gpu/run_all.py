"""Everything that needs a GPU, checked and measured in one run: `python benchmarks/gpu/run_all.py --out DIR`.

Each part is a file beside this one with `run(out) -> dict`; a part that fails is recorded as failed, and the others
go on. No speed is recorded beside a red check. The fingerprint of the machine is in every record.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "0"
sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

PARTS = ("rng", "fused_sample", "exact_sample", "speed")


def fingerprint() -> dict[str, Any]:
    """GPU, driver, compilers and packages that the records depend on."""
    import numpy
    import torch
    import triton

    query = [
        "nvidia-smi",
        "--query-gpu=name,driver_version,vbios_version,clocks.sm,clocks.mem",
        "--format=csv,noheader",
    ]
    nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False).stdout
    return {
        "gpu": torch.cuda.get_device_name(),
        "capability": list(torch.cuda.get_device_capability()),
        "multiprocessors": torch.cuda.get_device_properties(0).multi_processor_count,
        "smi": subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip(),
        "nvcc": nvcc.strip().splitlines()[-1] if nvcc else None,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "numpy": numpy.__version__,
        "python": sys.version.split()[0],
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", choices=PARTS, action="append", help="only these parts")
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    machine = fingerprint()
    red = []
    for name in options.part or PARTS:
        start = time.monotonic()
        try:
            record = import_module(f"part_{name}").run(options.out)
        except Exception:
            record = {"check": "failed", "traceback": traceback.format_exc()}
        record = {"part": name, **record, "environment": machine, "seconds": round(time.monotonic() - start, 1)}
        (options.out / f"{name}.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
        shown = {key: value for key, value in record.items() if key not in ("environment", "figures")}
        print(json.dumps(shown, indent=1), flush=True)
        if record["check"] != "green":
            red.append(name)
    print("red parts:", ", ".join(red) or "none")
    return 1 if red else 0


if __name__ == "__main__":
    raise SystemExit(main())

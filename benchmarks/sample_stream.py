"""`repro sample` over files larger than memory should hold: peak memory and time against the number of rows.

The bar: 10^5 rows x 4096 columns with the peak memory of 10^4 rows, under 1 GiB, in time linear in rows, for every
kind of file. Speed is printed only after the tokens of a file equal those of one call in memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy
from numpy.typing import NDArray

from deepinfer.sampling import SamplerInputs, sample
from repro.environment import facts

COLUMNS = 4096
BLOCK = 1000
SEED = 11
KINDS = ("npz", "safetensors", "parquet")
MAX_BYTES = 2**30
MEMORY_RATIO = 1.15
TIME_RATIO = 1.3
"""How far the larger file may exceed the smaller one: in peak memory, and in processor time for each row."""


def blocks(rows: int) -> Iterator[NDArray[np.float32]]:
    """The logits, BLOCK rows at a time: block b is the same in every file."""
    for start in range(0, rows, BLOCK):
        generator = np.random.default_rng([SEED, start])
        yield (generator.standard_normal((min(BLOCK, rows - start), COLUMNS), np.float32) * np.float32(3))


def write_npz(path: Path, rows: int) -> None:
    import zipfile

    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive,
        archive.open("logits.npy", "w", force_zip64=True) as out,
    ):
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, COLUMNS)}
        npy.write_array_header_1_0(out, header)  # type: ignore[no-untyped-call]
        for block in blocks(rows):
            out.write(block.tobytes())


def write_safetensors(path: Path, rows: int) -> None:
    size = rows * COLUMNS * 4
    header = json.dumps({"logits": {"dtype": "F32", "shape": [rows, COLUMNS], "data_offsets": [0, size]}}).encode()
    with open(path, "wb") as out:
        out.write(len(header).to_bytes(8, "little") + header)
        for block in blocks(rows):
            out.write(block.tobytes())


def write_parquet(path: Path, rows: int) -> None:
    schema = pa.schema([("logits", pa.list_(pa.float32(), COLUMNS))])
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for block in blocks(rows):
            lists = pa.FixedSizeListArray.from_arrays(pa.array(block.reshape(-1)), COLUMNS)
            writer.write_table(pa.table({"logits": lists}))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "npz": write_npz,
    "safetensors": write_safetensors,
    "parquet": write_parquet,
}


LAUNCH = """
import os, sys
from repro.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as file:
    peak = next(line.split()[1] for line in file if line.startswith("VmHWM"))
print(sum(os.times()[:2]), peak)
sys.exit(code)
"""
"""Both are read inside: a child's ru_maxrss counts what its parent held when it was forked. Processor time stays the
same when the machine is shared; the wall clock does not."""


def measured(argv: list[str]) -> dict[str, float]:
    """Seconds of wall clock and of processor, and peak resident bytes, of one `repro` process."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", LAUNCH, *argv], stdout=subprocess.PIPE, check=True)
    wall = time.perf_counter() - start
    cpu, peak = done.stdout.split()[-2:]
    return {"seconds": wall, "cpu_seconds": float(cpu), "bytes": int(peak) * 1024}


def check(folder: Path, sampler: str, backend: str) -> str | None:
    """Tokens of a file of each kind against one call in memory; None when they are equal."""
    rows = 2 * BLOCK
    inputs = SamplerInputs(np.concatenate(list(blocks(rows))), seq_seed=SEED, position=np.arange(rows))
    want = sample(sampler, inputs, backend=backend).tokens
    for kind in KINDS:
        path, out = folder / f"check.{kind}", folder / "check.parquet.out.parquet"
        WRITERS[kind](path, rows)
        measured(_argv(path, out, sampler, backend))
        seen = pq.read_table(out).column("token").to_numpy()
        path.unlink()
        if not np.array_equal(seen, want):
            return f"{kind}: {int((seen != want).sum())} of {rows} tokens differ"
    return None


def _argv(path: Path, out: Path, sampler: str, backend: str) -> list[str]:
    return ["sample", str(path), "--seed", str(SEED), "--sampler", sampler, "--backend", backend, "--out", str(out)]


def measure(folder: Path, kind: str, rows: int, repeats: int, sampler: str, backend: str) -> dict[str, Any]:
    """Medians of one size."""
    path = folder / f"x.{kind}"
    WRITERS[kind](path, rows)
    runs = [measured(_argv(path, folder / "out.parquet", sampler, backend)) for _ in range(repeats)]
    path.unlink()
    return {"rows": rows, **{name: float(np.median([run[name] for run in runs])) for name in runs[0]}}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sampler", default="exact_sample")
    parser.add_argument("--backend", default="native")
    options = parser.parse_args(argv)
    small, large = (1_000, 10_000) if options.quick else (10_000, 100_000)
    side = options.sampler, options.backend
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wrong = check(folder, *side)
        result: dict[str, Any] = {"bar": "sample_stream", "check": wrong or "pass", "ratios": {}, "figures": {}}
        result["environment"] = facts()
        if wrong is None:
            for kind in KINDS:
                start, few, many = (
                    measure(folder, kind, rows, times, *side) for rows, times in ((1, 3), (small, 3), (large, 2))
                )
                pace = [(one["cpu_seconds"] - start["cpu_seconds"]) / (one["rows"] - 1) for one in (few, many)]
                speed = many["rows"] / (many["seconds"] - start["seconds"])
                result["figures"][kind] = {"small": few, "large": many, "rows_per_second": speed}
                result["ratios"][kind] = {"memory": many["bytes"] / few["bytes"], "time_a_row": pace[1] / pace[0]}
    print(json.dumps({key: result[key] for key in ("bar", "check", "ratios", "figures")}, indent=1))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    held = all(
        ratio["memory"] <= MEMORY_RATIO and ratio["time_a_row"] <= TIME_RATIO for ratio in result["ratios"].values()
    )
    small_enough = all(figure["large"]["bytes"] < MAX_BYTES for figure in result["figures"].values())
    return 0 if wrong is None and held and small_enough else 1


if __name__ == "__main__":
    sys.exit(main())

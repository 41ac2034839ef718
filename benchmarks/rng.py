"""Bar `rng`: native Philox beside cuRAND's host generator and NumPy's Philox, in bytes a second.

The buffer has 1 MiB: each of two threads fills half of it, which fits a core's L2. First the words are compared with
NVIDIA's own code; where one differs no speed is measured.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deepinfer.cpu import best_level, supported_levels
from deepinfer.rng import StreamKey, curand_oracle, native_impl, reference, words
from deepinfer.rng.curand_host import curand_host_words
from repro.environment import facts

WORDS = 2**18
THREADS = 2
BARS = {"curand host generator": 5.0, "numpy random_raw": 4.0}


def check(quick: bool) -> dict[str, int]:
    """Words compared and words that differ, by peer."""
    random = np.random.default_rng(20240611)
    size = 50_000 if quick else 1_000_000
    compared = {"libcurand": 0, "curand_kernel.h": 0, "numpy reference": 0}
    differ = dict.fromkeys(compared, 0)

    def note(peer: str, ours: Any, theirs: Any) -> None:
        compared[peer] += theirs.size
        differ[peer] += int((ours != theirs).sum())

    for ordering in curand_oracle.ORDERINGS:
        for bits in (0, 18, 34, 62):
            seed, offset = int(random.integers(0, 2**64, dtype=np.uint64)), int(random.integers(0, 1 << bits))
            theirs = curand_oracle.curand_host(seed, offset, size // 4, ordering)
            note("libcurand", curand_host_words(seed, offset, size // 4, "native"), theirs)
    for level in supported_levels():
        for threads in (1, THREADS):
            seed, subsequence, offset = (int(x) for x in random.integers(0, 2**64, 3, dtype=np.uint64))
            options = {"level": level, "threads": threads}
            ours = words(StreamKey(seed, subsequence), offset, size, "native", **options)
            note("curand_kernel.h", ours, curand_oracle.curand_device(seed, subsequence, offset, size))
            keys = [random.integers(0, 2**64, size // 100, dtype=np.uint64) for _ in range(3)]
            many = native_impl.words_many(keys[0], keys[1], keys[2], 25, **options)
            note("numpy reference", many, reference.words_many(keys[0], keys[1], keys[2], 25))
    return {
        f"{peer}: {what}": n for what, part in (("compared", compared), ("differ", differ)) for peer, n in part.items()
    }


def buffer() -> np.ndarray:
    """uint32[1, WORDS] at a 64-byte boundary."""
    raw = np.zeros(WORDS + 16, np.uint32)
    first = -raw.ctypes.data % 64 // 4
    return raw[first : first + WORDS].reshape(1, WORDS)


def measure(repeats: int) -> dict[str, list[float]]:
    """Seconds of each contender for one buffer, `repeats` times, one after another in every round."""
    out = buffer()
    key = [np.asarray([x], np.uint64) for x in (1234, 5, 0)]
    numpy_philox = np.random.Philox(1234)
    seconds: dict[str, list[float]] = {}

    def with_curand(call: Callable[..., None], generator: ctypes.c_void_p) -> None:
        address, count = ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(WORDS)
        contenders: dict[str, Callable[[], Any]] = {
            f"native {level.name.lower()} {threads} threads": lambda level=level, threads=threads: (
                native_impl.words_many(key[0], key[1], key[2], WORDS, level=level, threads=threads, out=out)
            )
            for level in supported_levels()
            for threads in (1, THREADS)
        }
        contenders["curand host generator"] = lambda: call("curandGenerate", generator, address, count)
        contenders["numpy random_raw"] = lambda: numpy_philox.random_raw(WORDS // 2)
        for name, contender in contenders.items():
            contender()
            seconds[name] = []
        for _ in range(repeats):
            for name, contender in contenders.items():
                start = time.perf_counter()
                contender()
                seconds[name].append(time.perf_counter() - start)

    curand_oracle.with_host_generator(1234, 0, "default", with_curand)
    return seconds


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer words checked, fewer repeats")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    options = parser.parse_args(argv)
    checked = check(options.quick)
    differ = sum(n for name, n in checked.items() if name.endswith("differ"))
    print("check:", ", ".join(f"{name} {n}" for name, n in checked.items()))
    if differ:
        print(f"{differ} words differ: no speed is measured")
        return 1
    load = round(os.getloadavg()[0], 2)
    if load > 1:
        print(f"load {load} before measuring: other work is running")
    seconds = measure(30 if options.quick else 300)
    rate = {name: 4 * WORDS / float(np.median(times)) / 1e9 for name, times in seconds.items()}
    ours = f"native {best_level().name.lower()} {THREADS} threads"
    ratios = {
        peer: {"ratio": round(rate[ours] / rate[peer], 2), "bar": bar, "holds": bool(rate[ours] >= bar * rate[peer])}
        for peer, bar in BARS.items()
    }
    for name, value in rate.items():
        print(f"{name:<28} {value:7.2f} GB/s (median of {len(seconds[name])})")
    for peer, found in ratios.items():
        print(f"{ours} / {peer}: {found['ratio']} (bar {found['bar']}: {'holds' if found['holds'] else 'MISSED'})")
    if options.out:
        record = {
            "bar": "rng",
            "check": checked,
            "ratios": ratios,
            "figures": {f"{name}, GB/s": round(value, 3) for name, value in rate.items()} | {"load before": load},
            "environment": facts(),
        }
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return 0 if all(found["holds"] for found in ratios.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Bar `demo`: `make demo` after installation, start to end, in under 30 seconds on 2 cores.

Three runs of its command in fresh processes; the median counts. Red unless every run ends with exit code 0, says that
something was compared, and writes the same run.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

from repro.environment import facts

BAR_SECONDS = 30.0
COMMAND = (sys.executable, "-m", "repro", "run", "--suite", "sampling", "--jobs", "2", "--out")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    options = parser.parse_args(argv)
    seconds: list[float] = []
    problems: list[str] = []
    results = set()
    with tempfile.TemporaryDirectory() as folder:
        for index in range(1 if options.quick else 3):
            target = Path(folder) / f"{index}.repro"
            start = time.perf_counter()
            done = subprocess.run([*COMMAND, str(target)], capture_output=True, text=True, check=False)
            seconds.append(time.perf_counter() - start)
            if done.returncode != 0 or "verdict      pass" not in done.stdout:
                problems.append(f"exit code {done.returncode}: {(done.stderr or done.stdout)[-300:]}")
                break
            results.add(blake2b((target / "run.json").read_bytes()).hexdigest())
    if len(results) > 1:
        problems.append("two runs differ in run.json")
    record: dict[str, object] = {"bar": "demo", "check": "red" if problems else "green", "environment": facts()}
    if problems:
        record["problems"] = problems
    else:
        median = statistics.median(seconds)
        record["figures"] = {"seconds": [round(one, 2) for one in seconds], "median": round(median, 2)}
        record["ratios"] = {"of_the_bar": round(median / BAR_SECONDS, 3)}
    text = json.dumps(record, indent=1, sort_keys=True)
    print(text)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Bar `exact`: `exact_sample` has the same bits on every backend, and draws from the softmax.

Rows are made by hypothesis from benchmarks/exact_rows.py. Each is computed by the numpy reference and compared array by
array, bit by bit, with C++ at every SIMD level and 1 and 2 threads, and a part of them with Triton's interpreter. No
speed is measured here: benchmarks/samplers.py does that.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("TRITON_INTERPRET", "1")

import numpy as np
from exact_rows import EDGES, batch, differing
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from deepinfer.native import supported_levels
from deepinfer.sampling import SamplerInputs, sample
from deepinfer.sampling.exact_sample import fixed_point, native_impl, reference, triton_impl
from deepinfer.sampling.params import Plan, prepare
from repro.environment import facts

RECORDINGS = Path(__file__).parents[1] / "harness" / "data" / "deepinfer-0.1.0"
MOST_COLUMNS = 600
TEMPERATURES = (0.7, 1.0, 1.5)
TV_BAR = 1e-7
POWER_BAR = 2.0**-28
P_BAR = 1e-6


def hypothesis_plans(rows: int, per_batch: int, most_columns: int, use: Any) -> None:
    """Call `use` with plans of hard rows until there have been `rows` of them."""
    columns = st.one_of(st.sampled_from([n for n in EDGES if n <= most_columns]), st.integers(1, most_columns))

    @settings(
        max_examples=-(-rows // per_batch), derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(seed=st.integers(0, 2**63 - 1), columns=columns)
    def visit(seed: int, columns: int) -> None:
        made = batch(seed, columns, per_batch)
        use(prepare("exact_sample", made.inputs, **made.options))

    visit()


def compare_native(rows: int) -> Counter[str]:
    """Rows compared, and rows that differ by array, over every level and thread count."""
    found: Counter[str] = Counter()

    def use(plan: Plan) -> None:
        expected = reference.sample(plan)
        found["rows"] += len(plan.logits)
        for level in supported_levels():
            for threads in (1, 2):
                got = native_impl.sample(plan, threads=threads, level=level)
                for name, count in differing(expected, got).items():
                    found[f"differ: {name}, {level.name.lower()}, {threads} threads"] += count

    hypothesis_plans(rows, 100, MOST_COLUMNS, use)
    return found


def compare_triton(rows: int) -> Counter[str]:
    found: Counter[str] = Counter()

    def use(plan: Plan) -> None:
        found["rows"] += len(plan.logits)
        for name, count in differing(reference.sample(plan), triton_impl.sample(plan)).items():
            found[f"differ: {name}"] += count

    hypothesis_plans(rows, 420, 300, use)
    return found


def power_error() -> float:
    """The largest relative error of P over all 2^24 fractions, in units of 2^-28."""
    worst = 0.0
    for start in range(0, 2**24, 2**20):
        f = np.arange(start, start + 2**20)
        truth = np.exp2(31 - f / 2**24)
        worst = max(worst, float(np.abs(fixed_point.power(f.astype(np.uint64)) / truth - 1).max()))
    return worst / POWER_BAR


def total_variation(name: str, temperature: float, rows: int) -> float:
    """The largest distance of a recorded row's weights from its softmax."""
    logits = np.load(RECORDINGS / f"{name}.npz")["logits"][:rows]
    record = sample("exact_sample", SamplerInputs(logits, temperature), backend="native").record
    assert record.weights is not None
    heat = np.longdouble(np.float32(temperature))
    worst = 0.0
    for x, weight, total in zip(logits.astype(np.longdouble), record.weights, record.total, strict=True):
        p = np.exp((x - x.max()) / heat)
        worst = max(worst, float(np.abs(p / p.sum() - weight / np.longdouble(total)).sum() / 2))
    return worst


def goodness_of_fit(draws: int) -> dict[str, float]:
    """p-values of Pearson's and the G-test: real rows drawn many times against the float64 softmax."""
    data = np.load(RECORDINGS / "real.npz")["logits"]
    found: dict[str, float] = {}
    for row in (0, 100, 200):
        x = data[row]
        tokens: list[NDArray[np.int32]] = []
        for start in range(0, draws, 2000):
            inputs = SamplerInputs(
                np.broadcast_to(x, (2000, len(x))), seq_seed=row, position=np.arange(start, start + 2000)
            )
            tokens.append(sample("exact_sample", inputs, backend="native", detail="tokens").tokens)
        seen = np.bincount(np.concatenate(tokens), minlength=len(x))
        p = np.exp(x.astype(np.float64) - x.max())
        p /= p.sum()
        order = np.argsort(p)
        cell = np.floor(np.cumsum(p[order]) * draws / 20).astype(int)  # pooled: at least about 20 expected in each
        _, cell = np.unique(np.minimum(cell, cell[-1] - 1), return_inverse=True)
        observed, expected = np.bincount(cell, seen[order]), np.bincount(cell, p[order] * draws)
        for name in ("pearson", "log-likelihood"):
            test = stats.power_divergence(observed, expected * observed.sum() / expected.sum(), lambda_=name)
            found[f"real row {row}: {name} over {len(observed)} cells, p"] = float(test.pvalue)
    return found


def agreement() -> dict[str, float]:
    """Tokens two implementations share on the real rows, in percent: float samplers by draw rule, and exact_sample."""
    data = np.load(RECORDINGS / "real.npz")
    inputs = SamplerInputs(data["logits"], 1.0, 0.99, -1, data["seeds"], data["positions"])
    found: dict[str, float] = {}
    for draw in ("modulo_reject", "multiply_shift"):
        for name in ("fused_sample", "exact_sample"):
            one, other = (sample(name, inputs, backend=b, draw=draw).tokens for b in ("reference", "native"))
            found[f"{name}, {draw}: numpy and C++ agree, %"] = 100 * float((one == other).mean())
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows and draws")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    options = parser.parse_args(argv)
    less = 100 if options.quick else 1
    native, triton = compare_native(100_000 // less), compare_triton(2_100 // min(less, 5))
    figures: dict[str, float] = {"P(f): largest relative error, in 2^-28": power_error()}
    for name, rows in (("real", 250), ("normal3_129280", 8)):
        for temperature in TEMPERATURES:
            figures[f"{name}, T {temperature}: total variation"] = total_variation(name, temperature, rows)
    fit = goodness_of_fit(400_000 // less)
    check = {f"native {key}": n for key, n in native.items()} | {f"triton {key}": n for key, n in triton.items()}
    differ = sum(n for key, n in check.items() if "differ" in key)
    worst_tv = max(value for key, value in figures.items() if key.endswith("total variation"))
    ratios = {
        "rows that differ": {"ratio": differ, "bar": 0, "holds": differ == 0 and native["rows"] > 0 < triton["rows"]},
        "error of P": {"ratio": figures["P(f): largest relative error, in 2^-28"], "bar": 1},
        "total variation on recorded rows": {"ratio": worst_tv, "bar": TV_BAR},
        "least p-value": {"ratio": min(fit.values()), "bar": P_BAR, "holds": min(fit.values()) >= P_BAR},
    }
    for found in ratios.values():
        found.setdefault("holds", found["ratio"] <= found["bar"])
    figures |= fit | agreement()
    print(f"compared: {native['rows']} rows with C++, {triton['rows']} with Triton; {differ} differ")
    for name, value in figures.items():
        print(f"{name:<64} {value:.4g}")
    for name, found in ratios.items():
        print(f"{name}: {found['ratio']:.4g} (bar {found['bar']:.4g}: {'holds' if found['holds'] else 'MISSED'})")
    if options.out:
        record = {"bar": "exact", "check": check, "ratios": ratios, "figures": figures, "environment": facts()}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return 0 if all(found["holds"] for found in ratios.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

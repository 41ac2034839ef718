"""Rows made to be hard for `exact_sample`, and the comparison of two results bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.sampling import SampleResult, SamplerInputs

F32 = NDArray[np.float32]
MOST = np.float32(np.finfo(np.float32).max)
TEMPERATURES = np.asarray([0, 1e-45, 4e-39, 1e-5, 0.01, 0.3, 0.7, 1, 1, 1, 1.5, 30, 1e30, MOST], np.float32)
TOP_P = np.asarray([1, 1, 1, 1 - 2.0**-24, 0.99, 0.9, 0.5, 0.05, 2.0**-32, 1e-45], np.float32)
MIN_P = [0.0, 0.0, 2.0**-31, 1e-10, 0.01, 0.5, 1.0]
KINDS = 12


def row(kind: int, columns: int, rng: np.random.Generator) -> NDArray[Any]:
    """One row of logits of the given kind, 0 <= kind < KINDS; it may hold nothing but -inf."""
    normal = rng.standard_normal(columns)
    if kind == 0:  # as models make them
        return normal * rng.choice([0.01, 1, 3, 10])
    if kind == 1:  # few values, many ties
        return rng.integers(-2, 2, columns).astype(float)
    if kind == 2:  # one value
        return np.full(columns, normal[0])
    if kind == 3:  # zeros of both signs among a few others
        return np.where(rng.random(columns) < 0.1, normal, rng.choice([0.0, -0.0], columns))
    if kind == 4:  # many absent columns
        return np.where(rng.random(columns) < rng.choice([0.1, 0.5, 0.99]), -np.inf, normal)
    if kind == 5:  # subnormals of both signs
        return rng.integers(-20, 20, columns) * 2.0**-149
    if kind == 6:  # one survivor
        return np.where(np.arange(columns) == rng.integers(columns), normal, -np.inf)
    if kind == 7:  # differences beyond the largest float
        return rng.choice([1.0, -1.0, 0.5, -0.25, 1e-7], columns) * float(MOST)
    if kind == 8:  # any finite bits
        bits = rng.integers(0, 2**32, columns, np.uint64).astype(np.uint32).view(np.float32)
        return np.where(np.isfinite(bits), bits, np.float32(1)).astype(float)
    if kind == 9:  # weights around the last unit that is not cut to zero
        return -(44 + rng.integers(-3, 3, columns) * rng.choice([1.0, 2.0**-20], columns)) * np.log(2) * (normal < 1)
    if kind == 10:  # in order, neighbours one unit in the last place apart
        return (np.float32(1) + np.arange(columns, dtype=np.float32)[:: rng.choice([1, -1])] * np.float32(2**-23)) * 1.0
    coarse = (normal * 3).astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return coarse.view(np.float32).astype(float)  # as bfloat16 makes them


@dataclass(frozen=True)
class Batch:
    """Inputs of one call with its options."""

    inputs: SamplerInputs
    options: dict[str, Any]


def batch(seed: int, columns: int, rows: int) -> Batch:
    """`rows` rows of all kinds with parameters of all kinds; a function of its arguments."""
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        logits = np.stack([row(int(rng.integers(KINDS)), columns, rng) for _ in range(rows)]).astype(np.float32)
    logits[np.isneginf(logits).all(axis=1), rng.integers(columns)] = rng.standard_normal()
    verify: dict[str, Any] = {}
    if rng.random() < 0.5:
        verify = {
            "draft_logprobs": np.log(rng.random((rows, columns), np.float32) + np.float32(1e-6)),
            "draft_ids": rng.integers(-1, columns, rows),
            "is_verify": rng.random(rows) < 0.7,
        }
    inputs = SamplerInputs(
        logits,
        temperature=rng.choice(TEMPERATURES, rows),
        top_p=rng.choice(TOP_P, rows),
        top_k=rng.choice([-1, -1, 1, 2, 7, 50, max(columns - 1, 1), columns, columns + 3], rows),
        seq_seed=rng.integers(0, 2**64, rows, np.uint64),
        position=rng.integers(0, rng.choice([100, 2**62]), rows),
        **verify,
    )
    options = {"filter_order": rng.choice(["joint", "top_k_first"]).item(), "min_p": rng.choice(MIN_P).item()}
    return Batch(inputs, options)


EDGES = sorted({n for power in range(10) for n in (2**power - 1, 2**power, 2**power + 1) if n})
"""Numbers of columns beside powers of two."""


def arrays(result: SampleResult) -> dict[str, NDArray[Any]]:
    """Every array of a result and its record by name, floats as the integers of their bits."""
    found = {**vars(result.record), **vars(result)}
    kept = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    return {name: value.view(np.uint32) if value.dtype == np.float32 else value for name, value in kept.items()}


def differing(expected: SampleResult, got: SampleResult) -> dict[str, int]:
    """How many rows differ, for each array that differs; {} where two results are equal bit for bit."""
    left, right = arrays(expected), arrays(got)
    if left.keys() != right.keys():
        return {f"arrays present: {sorted(left.keys() ^ right.keys())}": len(expected.tokens)}
    found = {}
    for name, value in left.items():
        if value.shape != right[name].shape or value.dtype != right[name].dtype:
            found[f"{name}: {value.dtype}{value.shape} and {right[name].dtype}{right[name].shape}"] = len(value)
        elif (rows := (value != right[name]).reshape(len(value), -1).any(axis=1).sum()) > 0:
            found[name] = int(rows)
    return found

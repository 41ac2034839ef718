"""The stream of cuRAND's host API (curandGenerate, Philox4_32_10) from our own words (docs/spec/rng.md, section 5).

65536 subsequences take turns, four outputs each. An offset counts outputs, whatever their type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import unknown_name
from deepinfer.rng import maps, words_many
from deepinfer.rng.reference import uniform_from_words
from deepinfer.rng.spec import U64, check_count, u64

SUBSEQUENCES = 65536


def curand_host_words(
    seed: int, offset: int, count: int, backend: str = "reference", **options: Any
) -> NDArray[np.uint32]:
    """Outputs offset .. offset + count - 1 of curandGenerate, uint32[count]."""
    turns, subsequences, inside = _groups(offset, count)
    words = words_many([u64("seed", seed)], subsequences, turns * np.uint64(4), 4, backend, **options)
    return words.reshape(-1)[inside : inside + count]


def curand_host_values(
    seed: int, offset: int, count: int, kind: str, backend: str = "reference", **options: Any
) -> NDArray[Any]:
    """As `curand_oracle.curand_host` gives for this kind: our own words and maps in the host API's order."""
    if kind == "u32":
        return curand_host_words(seed, offset, count, backend, **options)
    if kind == "uniform":
        return uniform_from_words(curand_host_words(seed, offset, count, backend, **options))
    if kind == "uniform2_double":
        return _uniform2_double(seed, offset, count, backend, options)
    if kind == "normal":
        return _normal(seed, offset, count, backend, options)
    raise unknown_name("kind of the cuRAND host generator", kind, ["u32", "uniform", "uniform2_double", "normal"])


def _groups(offset: int, count: int) -> tuple[U64, U64, int]:
    """The turn and the subsequence of each group of four outputs that [offset, offset + count) touches, and where in
    the first group it begins."""
    first, inside = divmod(u64("offset", offset), 4)
    group = np.uint64(first) + np.arange((inside + check_count(count) + 3) // 4, dtype=np.uint64)
    return group // np.uint64(SUBSEQUENCES), group % np.uint64(SUBSEQUENCES), inside


def _uniform2_double(seed: int, offset: int, count: int, backend: str, options: dict[str, Any]) -> NDArray[np.float64]:
    """A group's four doubles take two blocks of its subsequence. An offset moves a subsequence by one block a turn, and
    the turns after it by two."""
    turns, subsequences, inside = _groups(offset, count)
    since = np.arange(len(turns), dtype=np.uint64) // np.uint64(SUBSEQUENCES)
    words = words_many([u64("seed", seed)], subsequences, (turns + since) * np.uint64(4), 8, backend, **options)
    return maps.uniform2_double_from_words(words).reshape(-1)[inside : inside + count]


def _normal(seed: int, offset: int, count: int, backend: str, options: dict[str, Any]) -> NDArray[np.float32]:
    """Adjacent outputs are a pair, wherever the offset lies in it."""
    start = u64("offset", offset) & ~1
    words = curand_host_words(seed, start, (offset - start + count + 1) & ~1, backend, **options)
    return maps.normal_from_words(words)[offset - start :][:count]

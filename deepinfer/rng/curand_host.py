"""The stream of cuRAND's host API (curandGenerate, Philox4_32_10) from our own words (docs/spec/rng.md, section 5).

65536 subsequences take turns, four outputs each. An offset counts outputs, whatever their type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng import maps
from deepinfer.rng.reference import philox4x32, uniform_from_words
from deepinfer.rng.spec import check_count, u64

SUBSEQUENCES = 65536
TURN = 4 * SUBSEQUENCES


def _blocks(seed: int, turns: NDArray[np.uint64], subsequences: NDArray[np.uint64]) -> NDArray[np.uint32]:
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    counter = np.stack([turns & mask, turns >> shift, subsequences, np.zeros_like(subsequences)], -1).astype(np.uint32)
    return philox4x32(counter, np.asarray([seed & 0xFFFFFFFF, seed >> 32], np.uint32))


def _groups(seed: int, offset: int, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], int]:
    """The turn and the subsequence of each group of four outputs that [offset, offset + count) touches, and where in
    the first group it begins."""
    seed, offset, count = u64("seed", seed), u64("offset", offset), check_count(count)
    first, inside = divmod(offset, 4)
    group = np.uint64(first) + np.arange((inside + count + 3) // 4, dtype=np.uint64)
    return group // np.uint64(SUBSEQUENCES), group % np.uint64(SUBSEQUENCES), inside


def curand_host_words(seed: int, offset: int, count: int) -> NDArray[np.uint32]:
    """Outputs offset .. offset + count - 1 of curandGenerate, uint32[count]."""
    turns, subsequences, inside = _groups(seed, offset, count)
    return _blocks(seed, turns, subsequences).reshape(-1)[inside : inside + count]


def _uniform2_double(seed: int, offset: int, count: int) -> NDArray[np.float64]:
    """A group's four doubles take two blocks of its subsequence. The offset moves each subsequence by turns of one block,
    and from there on every turn takes two."""
    turns, subsequences, inside = _groups(seed, offset, count)
    since = np.arange(len(turns), dtype=np.uint64) // np.uint64(SUBSEQUENCES)
    pair = [_blocks(seed, turns + since + np.uint64(half), subsequences) for half in (0, 1)]
    return maps.uniform2_double_from_words(np.concatenate(pair, axis=-1)).reshape(-1)[inside : inside + count]


def _normal(seed: int, offset: int, count: int) -> NDArray[np.float32]:
    """Adjacent outputs are a pair, wherever the offset lies in it."""
    start = offset & ~1
    words = curand_host_words(seed, start, (offset - start + count + 1) & ~1)
    return maps.normal_from_words(words)[offset - start :][:count]


def curand_host_values(seed: int, offset: int, count: int, kind: str) -> NDArray[Any]:
    """As `curand_oracle.curand_host` gives for this kind: our own words and maps in the host API's order."""
    if kind == "u32":
        return curand_host_words(seed, offset, count)
    if kind == "uniform":
        return uniform_from_words(curand_host_words(seed, offset, count))
    if kind == "uniform2_double":
        return _uniform2_double(seed, offset, count)
    return _normal(seed, offset, count)

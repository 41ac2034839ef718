"""What a random word is: Philox4x32-10 numbered as cuRAND's device API numbers it (docs/spec/rng.md).

Everything here is a pure function of its arguments; every backend is written from this file alone.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError, unknown_name

MULTIPLIER = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10

FRESH, RESIDUAL, ACCEPT = 0, 1, 2
NUMBERINGS = ("absolute", "deepinfer")
DRAFT_SEED_OFFSET = 1_000_000_007
BLOCK_ROW_STRIDE = 10_000_019
MAX_POSITION = {"absolute": 2**62, "deepinfer": (2**31 + 2) // 3}  # exclusive

U64 = NDArray[np.uint64]


MAX_COUNT = 2**40


def u64(name: str, value: Any) -> int:
    """`value` as a Python int if it is an unsigned 64-bit integer."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} is {value!r}: give an integer from 0 to 2^64 - 1") from None
    if not 0 <= number < 2**64:
        raise InputError(f"{name} is {number}: give an integer from 0 to 2^64 - 1")
    return number


def u64_array(name: str, values: Any) -> U64:
    """One-dimensional uint64 of an integer or a list or array of integers from 0 to 2^64 - 1."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1:
        raise InputError(f"{name} have shape {array.shape}: give one dimension")
    if array.dtype.kind == "u" or (array.dtype.kind == "i" and (array >= 0).all()):
        return array.astype(np.uint64)
    listed = array.tolist() if isinstance(values, np.ndarray) else list(np.atleast_1d(np.asarray(values, object)))
    return np.asarray([u64(f"{name}[{index}]", value) for index, value in enumerate(listed)], np.uint64)


def check_count(count: Any) -> int:
    """`count` if it is an integer from 0 to MAX_COUNT."""
    try:
        number = operator.index(count)
    except TypeError:
        raise InputError(f"count is {count!r}: give an integer from 0 to 2^40") from None
    if not 0 <= number <= MAX_COUNT:
        raise InputError(f"count is {number}: give an integer from 0 to 2^40")
    return number


@dataclass(frozen=True)
class StreamKey:
    """Names one stream of 32-bit words; a function of the request alone. Both fields are unsigned 64-bit integers."""

    seed: int
    subsequence: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", u64("seed", self.seed))
        object.__setattr__(self, "subsequence", u64("subsequence", self.subsequence))


def check_numbering(numbering: str) -> str:
    if numbering not in NUMBERINGS:
        raise unknown_name("numbering", numbering, NUMBERINGS)
    return numbering


def request_subsequences(
    position: NDArray[np.int64],
    purpose: int,
    numbering: str = "absolute",
    block_base: NDArray[np.int64] | None = None,
    block_row: NDArray[np.int64] | None = None,
) -> U64:
    """`3 * position + purpose` for each request row, uint64[Q].

    `absolute`: `position` is the token's place in its sequence. `deepinfer`: where a verify block is given, row j of
    the block stands at `block_base + j * 10000019` in 32-bit arithmetic, as upstream numbers it.
    Raises InputError for a position outside the numbering's range.
    """
    check_numbering(numbering)
    where = np.asarray(position, np.int64)
    if numbering == "deepinfer" and block_base is not None:
        row = np.zeros_like(where) if block_row is None else np.asarray(block_row, np.int64)
        raw = (np.asarray(block_base, np.int64) + row * BLOCK_ROW_STRIDE) & 0xFFFFFFFF
        where = np.where(raw >= 2**31, raw - 2**32, raw)
    limit = MAX_POSITION[numbering]
    wrong = np.flatnonzero((where < 0) | (where >= limit))
    if wrong.size:
        row_id = int(wrong[0])
        raise InputError(
            f"position of row {row_id} is {int(where[row_id])}: {numbering} numbering allows 0 <= position < {limit}"
        )
    return where.astype(np.uint64) * np.uint64(3) + np.uint64(purpose)

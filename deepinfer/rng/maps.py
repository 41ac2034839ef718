"""cuRAND's maps from 32-bit words to numbers, in numpy (docs/spec/rng.md, section 3). No fast side is imported.

Each takes the words of consecutive draws along the last axis. The integer maps are exact; `normal` and its relatives
evaluate log, sine and cosine in float64 and round once, so they differ from cuRAND's by a few ULP.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

Float = TypeVar("Float", np.float32, np.float64)

TWO_PI = np.float32(2 * np.pi)


def uniform_double_from_words(words: U32) -> F64:
    """One word each: w * 2^-32 + 2^-32, in [2^-32, 1]; 32 bits of randomness, as cuRAND's scalar call has."""
    return words.astype(np.float64) * 2.0**-32 + 2.0**-32


def wide_from_words(words: U32) -> NDArray[np.uint64]:
    """Two words (a, b) to a 53-bit integer, a ^ (b << 21): words[..., 2 n] to uint64[..., n]."""
    return words[..., 0::2].astype(np.uint64) ^ (words[..., 1::2].astype(np.uint64) << np.uint64(21))


def uniform2_double_from_words(words: U32) -> F64:
    """Two words each: z * 2^-53 + 2^-54, in (0, 1]."""
    return wide_from_words(words).astype(np.float64) * 2.0**-53 + 2.0**-54


def normal_from_words(words: U32) -> F32:
    """Box-Muller on word pairs (a, b): sine * radius, then cosine * radius; float32, one value a word."""
    first, second = words[..., 0::2].astype(np.float32), words[..., 1::2].astype(np.float32)
    step = np.float32(2.0**-32) * TWO_PI
    u = first * np.float32(2.0**-32) + np.float32(2.0**-33)
    angle = (second * step + step / np.float32(2)).astype(np.float64)
    radius = np.sqrt(np.float32(-2) * np.log(u.astype(np.float64)).astype(np.float32))
    return _pairs(np.sin(angle).astype(np.float32) * radius, np.cos(angle).astype(np.float32) * radius)


def normal_double_from_words(words: U32) -> F64:
    """Box-Muller on four words each pair of values: the radius from the first two, the angle from the others.

    The angle, in half turns, is brought within a quarter turn of an axis before it is multiplied by pi: beside a zero
    of the sine the product's rounding would be all there is.
    """
    wide = wide_from_words(words).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log(wide[..., 0::2] * 2.0**-53 + 2.0**-54))
    half_turns = wide[..., 1::2] * 2.0**-52 + 2.0**-53
    axis = np.rint(half_turns * 2)
    rest = (half_turns - axis / 2) * np.pi
    sine, cosine = np.sin(rest), np.cos(rest)
    quarter = axis.astype(np.int64) & 3
    turned_sine = np.choose(quarter, [sine, cosine, -sine, -cosine])
    turned_cosine = np.choose(quarter, [cosine, -sine, -cosine, sine])
    return _pairs(turned_sine * radius, turned_cosine * radius)


def log_normal_from_normal(normal: F32, mean: float, stddev: float) -> F32:
    """exp(mean + stddev * normal), the argument in float32."""
    argument = np.float32(mean) + np.float32(stddev) * normal
    with np.errstate(over="ignore"):
        return np.exp(argument.astype(np.float64)).astype(np.float32)


def _pairs(first: NDArray[Float], second: NDArray[Float]) -> NDArray[Float]:
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)

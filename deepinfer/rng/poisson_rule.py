"""Poisson draws by cuRAND's rules, which the mean `lam` chooses (docs/spec/rng.md, section 3).

Below 64: uniforms are multiplied onto exp(lam) until the product is at most 1 (float32; one word a factor). Above 4000:
the whole part of sqrt(lam) * normal_double + lam + 0.5, with normals in pairs from four words. From 64 to 4000 cuRAND
rejects against approximations of its own of the incomplete gamma function; that rule is not offered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.rng.maps import normal_double_from_words
from deepinfer.rng.reference import uniform_from_words

U32 = NDArray[np.uint32]
PRODUCT_BELOW = 64.0
NORMAL_ABOVE = 4000.0
LARGEST = 2.0**31


def poisson_from_words(first_words: Callable[[int], U32], count: int, lam: float) -> U32:
    """`count` draws, uint32[count], from a stream whose first n words `first_words(n)` gives."""
    if not 0 < lam <= LARGEST:
        raise InputError(f"lam is {lam!r}: give a mean above 0 and at most 2^31")
    if lam > NORMAL_ABOVE:
        normals = normal_double_from_words(first_words((count + 1) // 2 * 4))[:count]
        return (math.sqrt(lam) * normals + lam + 0.5).astype(np.uint32)
    if lam >= PRODUCT_BELOW:
        raise InputError(f"lam is {lam!r}: means from 64 to 4000 are not offered, give one below 64 or above 4000")
    uniforms = _uniforms(first_words)
    return np.fromiter((_by_product(uniforms, lam) for _ in range(count)), np.uint32, count)


def _uniforms(first_words: Callable[[int], U32]) -> Iterator[np.float32]:
    """The stream's uniforms without end."""
    done, size = 0, 256
    while True:
        yield from uniform_from_words(first_words(size)[done:])
        done, size = size, size * 2


def _by_product(uniforms: Iterator[np.float32], lam: float) -> int:
    product = np.float32(math.exp(np.float32(lam)))
    drawn = -1
    while drawn < 0 or product > 1:
        product *= next(uniforms)
        drawn += 1
    return drawn

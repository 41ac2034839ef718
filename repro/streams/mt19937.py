"""MT19937 seeded by a single integer, by calling NumPy's own generator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mt19937_words(seed: int, start: int, count: int) -> NDArray[np.uint32]:
    """Words start .. start + count - 1 after init_genrand(seed mod 2^32), uint32[count]."""
    engine = np.random.RandomState(seed & 0xFFFFFFFF)._bit_generator
    return np.asarray(engine.random_raw(start + count)[start:], np.uint64).astype(np.uint32)

"""NumPy 2.4.6's recorded outputs against the installed NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from repro.streams import stream
from repro.streams.numpy_bits import NumpyBits

Arrays = dict[str, NDArray[np.generic]]


@pytest.mark.parametrize("name", ["philox", "pcg64", "mt19937", "sfc64"])
@pytest.mark.parametrize("seed", [0, 1234, 2**64 - 1])
def test_every_recorded_array(zoo_cpu: Arrays, name: str, seed: int) -> None:
    prefix = f"numpy.2.4.6.{name}.seed{seed}."
    made = stream("numpy", "2.4.6", bit_generator=name, seed=seed)
    assert isinstance(made, NumpyBits)
    mine = {
        "raw": made.words(16),
        "random": made.uniforms(16),
        "random_f32": made.uniforms(16, "float32"),
        "standard_normal": made.normals(16),
        "standard_exponential": made.exponentials(16),
        "integers100": made.generator().integers(0, 100, 16),
        "integers_2p40": made.generator().integers(0, 2**40, 16),
        "permutation": made.generator().permutation(16),
    }
    for what, value in mine.items():
        assert np.array_equal(value, zoo_cpu[prefix + what]), what

"""JAX 0.10.2 on a CPU: keys, bits and everything that is exact."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deepinfer.errors import InputError
from repro.streams import jax_keys, stream
from repro.streams.jax import Jax

Arrays = dict[str, NDArray[np.generic]]
IMPLEMENTATIONS = ("threefry2x32", "rbg", "unsafe_rbg", "philox4x32", "philox2x32")


def made(impl: str, seed: int, path: str) -> Jax:
    built = stream("jax", "0.10.2", impl=impl, seed=seed, partitionable=path != "part0", x64=path == "x64")
    assert isinstance(built, Jax)
    return built


@pytest.mark.parametrize("path", ["part0", "part1"])
@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
def test_every_recorded_array(zoo_cpu: Arrays, impl: str, path: str) -> None:
    for seed in (0, 1234, 2147483647):
        prefix, j = f"jax.0.10.2.{impl}.{path}.seed{seed}.", made(impl, seed, path)
        assert np.array_equal(j.key, zoo_cpu[prefix + "keydata"])
        for count in (1, 5, 15, 16, 1000):
            assert np.array_equal(j.words(count), zoo_cpu[f"{prefix}bits.n{count}"])
            assert np.array_equal(j.uniforms(count), zoo_cpu[f"{prefix}uniform.n{count}"])
        assert np.array_equal(j.words(12).reshape(4, 3), zoo_cpu[prefix + "bits.n4x3"])
        assert np.array_equal(j.bits(15, 8), zoo_cpu[prefix + "bits_uint8.n15"])
        assert np.array_equal(j.bits(15, 16), zoo_cpu[prefix + "bits_uint16.n15"])
        assert np.array_equal(jax_keys.split(impl, j.key, 3, path == "part1"), zoo_cpu[prefix + "split3"])
        assert np.array_equal(jax_keys.fold_in(impl, j.key, 5), zoo_cpu[prefix + "fold5"])
        assert np.array_equal(j.randint(16, 0, 100), zoo_cpu[prefix + "randint100.n16"])
        assert np.abs(j.normals(16) - zoo_cpu[prefix + "normal.n16"]).max() < 2.0**-18


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_64_bit_types(zoo_cpu: Arrays, impl: str) -> None:
    for seed in (0, 1234):
        prefix, j = f"jax.0.10.2.{impl}.x64.seed{seed}.", made(impl, seed, "x64")
        assert np.array_equal(j.key, zoo_cpu[prefix + "keydata"])
        assert np.array_equal(j.bits(5, 64), zoo_cpu[prefix + "bits64.n5"])
        assert np.array_equal(j.uniform_doubles(5), zoo_cpu[prefix + "uniform64.n5"])


def test_without_64_bit_types_the_upper_half_of_a_seed_is_dropped() -> None:
    assert made("threefry2x32", 2**40 + 17, "part1").key == (0, 17)
    assert made("threefry2x32", 2**40 + 17, "x64").key == (256, 17)


def test_the_old_path_changes_every_element_with_the_size() -> None:
    old, new = made("threefry2x32", 0, "part0"), made("threefry2x32", 0, "part1")
    assert not np.array_equal(old.words(5), old.words(15)[:5])
    assert np.array_equal(new.words(5), new.words(15)[:5])


def test_gumbel_noise(zoo_cpu: Arrays) -> None:
    for row, seed in enumerate(zoo_cpu["inputs.seeds"][:8].tolist()):
        mine = made("threefry2x32", seed, "part1").gumbel(4096, "low")
        assert np.abs(mine - zoo_cpu["jax.0.10.2.gumbel8"][row]).max() < 2.0**-20


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(InputError, match="known are low, high"):
        made("threefry2x32", 0, "part1").gumbel(4, "highest")

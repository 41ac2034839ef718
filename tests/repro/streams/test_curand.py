"""cuRAND: an H200, NVIDIA's header compiled for a CPU, and libcurand's host generator."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deepinfer.errors import InputError, MissingExtra
from repro.streams import stream
from repro.streams.xorwow import xorwow_words

Arrays = dict[str, NDArray[np.generic]]
HEADER = "curand_hostcompiled.10.4.5."
HOST = "curand_host.10.4.5."
AT = np.concatenate([4096 * np.arange(1, 140), 262144 + np.arange(16)])
"""The later outputs that the host recordings keep."""
SEEDS = ("default", "0", "1234", "18446744073709551615")
NORMAL_BOUND = 2.0**-18


def device(generator: str, case: NDArray[np.generic]) -> object:
    seed, subsequence, offset = (int(x) for x in case)
    return stream("curand_device", "10.4.5", generator=generator, seed=seed, subsequence=subsequence, offset=offset)


@pytest.mark.parametrize("generator", ["xorwow", "mrg32k3a", "philox"])
def test_device_words_uniforms_and_doubles_of_nvidias_header(zoo_cpu: Arrays, generator: str) -> None:
    name = "philox4x32" if generator == "philox" else generator
    for row, case in enumerate(zoo_cpu[HEADER + "cases_seed_subsequence_offset"]):
        made = device(name, case)
        assert np.array_equal(made.words(8), zoo_cpu[f"{HEADER}{generator}.u32"][row])
        assert np.array_equal(made.uniforms(4), zoo_cpu[f"{HEADER}{generator}.uniform"][row])
        assert np.array_equal(made.uniform_doubles(2), zoo_cpu[f"{HEADER}{generator}.uniform_f64"][row])
        expected = zoo_cpu[f"{HEADER}{generator}.normal_host_libm"][row]
        assert np.abs(made.normals(4) - expected).max() < NORMAL_BOUND


def test_xorwow_skips_words_and_subsequences(zoo_cpu: Arrays) -> None:
    for row, case in enumerate(zoo_cpu[HEADER + "cases_seed_subsequence_offset"]):
        seed, subsequence, offset = (int(x) for x in case)
        if offset < 2**64 - 5 and subsequence < 2**64 - 3:
            ahead = xorwow_words([seed], [subsequence], [offset + 5], 2)[0]
            assert np.array_equal(ahead, zoo_cpu[HEADER + "xorwow.skipahead5"][row])


def test_device_philox_of_an_h200(curand_device: Arrays) -> None:
    for row, case in enumerate(curand_device["cases"]):
        made = device("philox4x32", case)
        assert np.array_equal(made.words(16), curand_device["u32"][row])
        assert np.array_equal(made.uniforms(8), curand_device["uniform"][row])
        assert np.array_equal(made.uniform_doubles(4), curand_device["uniform_d"][row])
        assert np.abs(made.normals(8) - curand_device["normal"][row]).max() < NORMAL_BOUND


def test_one_word_later_is_another_stream(curand_device: Arrays) -> None:
    case = curand_device["cases"][3].copy()
    case[2] += np.uint64(1)
    assert not np.array_equal(device("philox4x32", case).words(16), curand_device["u32"][3])


def host(generator: str, seed: str, offset: int = 0) -> object:
    number = 0 if seed == "default" else int(seed)
    return stream("curand_host", "10.4.5", generator=generator, seed=number, offset=offset)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("generator", ["xorwow", "mrg32k3a", "philox4x32"])
def test_host_words(zoo_cpu: Arrays, generator: str, seed: str) -> None:
    prefix = f"{HOST}{generator.removesuffix('4x32')}.seed{seed}."
    assert np.array_equal(host(generator, seed).words(4096), zoo_cpu[prefix + "first4096"])
    for output in (0, 20, 63, 138, 139, 154):
        assert host(generator, seed, int(AT[output])).words(1)[0] == zoo_cpu[prefix + "at"][output]


@pytest.mark.parametrize("generator", ["xorwow", "mrg32k3a", "philox4x32"])
def test_host_uniforms_doubles_and_offsets(zoo_cpu: Arrays, generator: str) -> None:
    prefix = f"{HOST}{generator.removesuffix('4x32')}.seed1234."
    made = host(generator, "1234")
    assert np.array_equal(made.uniforms(64), zoo_cpu[prefix + "uniform"])
    assert np.array_equal(made.uniform_doubles(64), zoo_cpu[prefix + "uniform_f64"])
    assert np.array_equal(host(generator, "1234", 5).words(64), zoo_cpu[prefix + "offset5"])


def test_host_xorwow_takes_its_turns_in_order(zoo_cpu: Arrays) -> None:
    words = host("xorwow", "1234").words(2 * 4096 + 3)
    assert words[8192] == zoo_cpu[HOST + "xorwow.seed1234.at"][1]
    assert np.array_equal(host("xorwow", "1234", 4090).words(20), words[4090:4110])


def test_host_mtgp32_is_asked_of_the_library(zoo_cpu: Arrays) -> None:
    prefix = HOST + "mtgp32.seed1234."
    made = host("mtgp32", "1234")
    try:
        words = made.words(int(AT.max()) + 1)
    except MissingExtra:
        pytest.skip("libcurand is not installed")
    assert np.array_equal(words[:4096], zoo_cpu[prefix + "first4096"])
    assert np.array_equal(words[AT], zoo_cpu[prefix + "at"])
    assert np.array_equal(made.uniforms(64), zoo_cpu[prefix + "uniform"])
    assert np.array_equal(made.uniform_doubles(64), zoo_cpu[prefix + "uniform_f64"])
    with pytest.raises(InputError, match="refuses offsets"):
        host("mtgp32", "1234", 5)


KEPT = np.concatenate(
    [np.arange(64), 65530 + np.arange(16), 131066 + np.arange(16), 262138 + np.arange(12), 299936 + np.arange(64)]
)
"""The outputs of 300000 that the recordings keep."""


@pytest.mark.parametrize("ordering", ["best", "default", "legacy"])
@pytest.mark.parametrize("where", ["gpu", "cpu"])
def test_host_api_on_an_h200_and_on_a_cpu(curand_host: Arrays, where: str, ordering: str) -> None:
    """Words, uniforms and normals were drawn one after the other from one generator."""
    for count, kept in ((4096, np.arange(4096)), (300000, KEPT)):
        prefix = f"{where}.{ordering}.seed1234.off0.n{count}."
        words, uniform = host("philox4x32", "1234").words(count), host("philox4x32", "1234", count).uniforms(count)
        assert np.array_equal(words[kept].view(np.int32), curand_host[prefix + "u32"])
        assert np.array_equal(uniform[kept], curand_host[prefix + "uniform"])
        normal = host("philox4x32", "1234", 2 * count).normals(count)
        assert np.abs(normal[kept] - curand_host[prefix + "normal"]).max() < NORMAL_BOUND


def test_the_dynamic_ordering_is_another(curand_host: Arrays) -> None:
    uniform = host("philox4x32", "1234", 300000).uniforms(300000)[KEPT]
    assert not np.array_equal(uniform, curand_host["gpu.dynamic.seed1234.off0.n300000.uniform"])

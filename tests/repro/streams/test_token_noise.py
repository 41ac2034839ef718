"""Hashes of (seed, position, token) on an H200 and in Triton's interpreter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repro.streams import stream
from repro.streams.murmur3 import token_hashes
from repro.streams.token_noise import VllmV2Noise, sglang_uniform, vllm_uniform

Arrays = dict[str, NDArray[np.generic]]
EDGES = np.asarray([0, 0x7FFFFFFF, 0x80000000, 0xFFFFFF7F, 0xFFFFFF80, 0xFFFFFFFF], np.uint32)


def test_hashes_and_uniforms(zoo_cpu: Arrays, zoo_gpu: Arrays) -> None:
    requests = list(zip(zoo_cpu["inputs.seeds"].tolist(), zoo_cpu["inputs.positions"].tolist(), strict=True))[:8]
    for row, (seed, position) in enumerate(requests):
        vllm = stream("vllm_v2", "0.33.0", seed=seed, position=position, role="target")
        sglang = stream("sglang", "0.5.23", seed=seed, position=position)
        assert isinstance(vllm, VllmV2Noise)
        for arrays, where in ((zoo_cpu, "interp"), (zoo_gpu, "cuda")):
            assert np.array_equal(vllm.words(4096), arrays[f"vllm_v2_{where}.0.33.0.hash8"][row])
            assert np.array_equal(vllm.uniforms(4096), arrays[f"vllm_v2_{where}.0.33.0.uniform8"][row])
            assert np.array_equal(vllm.uniform_doubles(4096), arrays[f"vllm_v2_{where}.0.33.0.uniform8_fp64"][row])
            assert np.array_equal(sglang.words(4096), arrays[f"sglang_{where}.0.5.23.hash8"][row])


def test_the_role_the_position_and_the_seed_each_change_the_words() -> None:
    base = {"seed": 5, "position": 7, "role": "target"}
    words = stream("vllm_v2", "0.33.0", **base).words(64)
    for change in ({"seed": 6}, {"position": 8}, {"role": "draft"}):
        assert (stream("vllm_v2", "0.33.0", **{**base, **change}).words(64) == words).mean() < 0.1


def test_published_hashes_and_negative_seeds() -> None:
    assert token_hashes([0], [0], [0])[0, 0] == 2167721464
    assert token_hashes([42], [5], [0])[0, 0] == 1076517293
    assert np.array_equal(token_hashes([-1], [3], range(8)), token_hashes([2**64 - 1], [3], range(8)))
    assert np.array_equal(token_hashes([9], [3], range(8)), token_hashes([9], [3 + 2**32], range(8)))


def test_edge_words() -> None:
    assert vllm_uniform(EDGES)[[0, 5]].tolist() == [2.0**-33, 1.0]
    assert sglang_uniform(EDGES)[[0, 5]].tolist() == [0.0, 1.0]

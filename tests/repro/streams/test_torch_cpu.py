"""torch 2.13 on a CPU: every recorded operation whose inputs are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from repro.streams import stream
from repro.streams.torch_cpu import TorchCpu

Arrays = dict[str, NDArray[np.generic]]
PREFIX = "torch_cpu.2.13.0."
SEEDS = (0, 1234, 2**63 - 1, -1)
COUNTS = (1, 5, 15, 16, 17, 31, 32, 1000)
WEIGHTS = np.arange(1.0, 11.0)

EXACT: dict[str, Callable[[TorchCpu, int], NDArray[np.generic]]] = {
    "rand": lambda s, n: s.uniforms(n),
    "rand_f64": lambda s, n: s.uniforms(n, "float64"),
    "rand_bf16": lambda s, n: s.uniforms(n, "bfloat16"),
    "rand_f16": lambda s, n: s.uniforms(n, "float16"),
    "exponential": lambda s, n: s.exponentials(n),
    "randint100": lambda s, n: s.randint(n, 0, 100),
    "randint_2p28": lambda s, n: s.randint(n, 0, 2**28),
    "randint_2p40": lambda s, n: s.randint(n, 0, 2**40),
    "randint_full": lambda s, n: s.randint(n, -(2**63), 2**63 - 1),
    "randperm": lambda s, n: s.randperm(n),
    "bernoulli0.3": lambda s, n: s.bernoulli(n, 0.3),
    "multinomial_repl": lambda s, n: s.multinomial_replaced(np.cumsum(WEIGHTS / WEIGHTS.sum()), n),
}


def cpu(seed: int, start: int = 0) -> TorchCpu:
    made = stream("torch_cpu", "2.13.0+cpu", seed=seed % 2**64, start=start)
    assert isinstance(made, TorchCpu)
    return made


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operation", EXACT)
def test_exact_operations(zoo_cpu: Arrays, operation: str, seed: int) -> None:
    for count in COUNTS[operation == "multinomial_repl" :]:  # one sample alone is a race, whatever `replacement`
        expected = zoo_cpu[f"{PREFIX}seed{seed}.n{count}.{operation}"]
        assert np.array_equal(EXACT[operation](cpu(seed), count).astype(expected.dtype), expected), count


@pytest.mark.parametrize("seed", SEEDS)
def test_normals_stay_within_their_bound(zoo_cpu: Arrays, seed: int) -> None:
    for count in COUNTS:
        expected = zoo_cpu[f"{PREFIX}seed{seed}.n{count}.randn"]
        assert np.abs(cpu(seed).normals(count) - expected).max() < 2.0**-19, count


def test_sixteen_elements_share_no_prefix_with_fifteen() -> None:
    assert not (cpu(0).normals(16)[:15] == cpu(0).normals(15)).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_sampling_without_replacement_is_a_race(zoo_cpu: Arrays, seed: int) -> None:
    for count in (1, 5):
        race = (WEIGHTS / WEIGHTS.sum()).astype(np.float32) / cpu(seed).exponentials(10)
        expected = zoo_cpu[f"{PREFIX}seed{seed}.n{count}.multinomial_norepl"]
        assert np.argsort(-race, kind="stable")[:count].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("call", "words"), [("after3", 3), ("after_randn5", 12), ("after_randn16", 16), ("after_exponential5", 10)]
)
def test_words_that_calls_take(zoo_cpu: Arrays, call: str, words: int) -> None:
    expected = zoo_cpu[f"{PREFIX}seed1234.rand_{call}"]
    assert np.array_equal(cpu(1234).after(words).uniforms(len(expected)), expected)
    assert not np.array_equal(cpu(1234).after(words + 1).uniforms(len(expected)), expected)


def test_the_seed_counts_modulo_2_to_32() -> None:
    assert np.array_equal(cpu(2**40 + 17).words(8), cpu(17).words(8))


def test_exponentials_of_a_row(zoo_cpu: Arrays) -> None:
    seed = int(zoo_cpu["inputs.seeds"][0])
    assert np.array_equal(cpu(seed).exponentials(4096), zoo_cpu["torch.2.13.0.exponential4096.rowseed0"])

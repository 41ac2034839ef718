"""torch 2.11 on an H200: every recorded operation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.rng.reference import uniform_from_words
from repro.streams import stream
from repro.streams import torch_values as values
from repro.streams.torch_cuda import TorchCuda

Arrays = dict[str, NDArray[np.generic]]
Value = NDArray[np.generic]
SEEDS = (0, 1234)
LONG = 700001
KEPT = np.concatenate([np.arange(64), 350000 + np.arange(64), LONG - 64 + np.arange(64)])
"""The elements of the long tensors that the recordings keep."""
P = np.float32(0.3)

EXACT: dict[str, tuple[Callable[[TorchCuda, int], Value], int]] = {
    "rand": (lambda s, n: s.uniforms(n), 4),
    "uniform_bf16": (lambda s, n: s.uniforms(n, "bfloat16"), 4),
    "rand64": (lambda s, n: s.uniforms(n, "float64"), 2),
    "randint100": (lambda s, n: s.randint(n, 0, 100), 4),
    "randint2p40": (lambda s, n: s.randint(n, 0, 2**40), 2),
    "random_i64": (lambda s, n: s.random(n), 2),
    "bernoulli": (lambda s, n: s.bernoulli(np.full(n, P)), 0),
    "geometric": (lambda s, n: values.geometric(uniform_from_words(s.words(n)), 0.2), 4),
}
"""Operation -> (its values, values of one call; 0: bernoulli's own advance)."""
APPROXIMATE: dict[str, Callable[[TorchCuda, int], Value]] = {
    "randn": lambda s, n: s.normals(n),
    "exponential": lambda s, n: s.exponentials(n),
    "lognormal": lambda s, n: values.log_normal(s.normals(n)),
    "cauchy": lambda s, n: values.cauchy(uniform_from_words(s.words(n))),
}


def h200(seed: int, offset: int = 0) -> TorchCuda:
    made = stream("torch_cuda", "2.11.0+cu130", seed=seed, offset=offset, sm_count=132, threads_per_sm=2048)
    assert isinstance(made, TorchCuda)
    return made


def after(made: TorchCuda, count: int, per_call: int) -> TorchCuda:
    return made.after(count, per_call) if per_call else h200(made.seed, made.offset + 12)


def recorded_offset(arrays: Arrays, name: str) -> int:
    return int(arrays[f"{name}.state_after"][8:].view(np.int64)[0])


def same(mine: Value, theirs: Value) -> bool:
    return np.array_equal(mine.astype(theirs.dtype), theirs)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operation", EXACT)
def test_exact_operations_their_hashes_their_offsets_and_the_next_call(
    torch_cuda: Arrays, operation: str, seed: int
) -> None:
    make, per_call = EXACT[operation]
    for count in (1, 5, 1000, 4096):
        name = f"{operation}.seed{seed}.n{count}"
        mine = make(h200(seed), count).astype(torch_cuda[name].dtype)
        assert np.array_equal(mine, torch_cuda[name])
        assert hashlib.sha256(mine.tobytes()).digest() == torch_cuda[f"{name}.sha256"].tobytes()
        following = after(h200(seed), count, per_call)
        assert following.offset == recorded_offset(torch_cuda, name)
        if f"{name}.second" in torch_cuda:
            assert same(make(following, count), torch_cuda[f"{name}.second"])


@pytest.mark.parametrize("seed", SEEDS)
def test_tensors_longer_than_the_grid(torch_cuda: Arrays, seed: int) -> None:
    made = h200(seed)
    words, pairs = made.words(LONG), made.word_pairs(LONG)
    u, wide = uniform_from_words(words), values.high_first(pairs)
    mine: dict[str, Value] = {
        "rand": values.uniform(words),
        "uniform_bf16": values.uniform(words, "bfloat16"),
        "rand64": values.uniform_double(pairs),
        "randint100": values.into_range(words.astype(np.uint64), 100, 0),
        "randint2p40": values.into_range(wide, 2**40, 0),
        "random_i64": values.into_range(wide, 2**63, 0),
        "bernoulli": made.bernoulli(np.full(LONG, P)).astype(np.float32),
    }
    for operation, value in mine.items():
        name = f"{operation}.seed{seed}.n{LONG}"
        assert np.array_equal(value[KEPT], torch_cuda[name])
        assert hashlib.sha256(value.tobytes()).digest() == torch_cuda[f"{name}.sha256"].tobytes()
        assert after(made, LONG, EXACT[operation][1]).offset == recorded_offset(torch_cuda, name)
    exponential = torch_cuda[f"exponential.seed{seed}.n{LONG}"]
    bound = values.exponential_error(u[KEPT])
    assert (np.abs(values.exponential(u[KEPT]).astype(np.float64) - exponential) <= bound).all()
    assert same(values.geometric(u[KEPT], 0.2), torch_cuda[f"geometric.seed{seed}.n{LONG}"])
    assert np.abs(made.normals(LONG)[KEPT] - torch_cuda[f"randn.seed{seed}.n{LONG}"]).max() < 2.0**-18


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operation", APPROXIMATE)
def test_approximated_operations_stay_within_their_bound(torch_cuda: Arrays, operation: str, seed: int) -> None:
    for count in (1, 5, 1000, 4096):
        name = f"{operation}.seed{seed}.n{count}"
        mine, theirs = APPROXIMATE[operation](h200(seed), count).astype(np.float64), torch_cuda[name]
        if operation == "exponential":
            bound = values.exponential_error(uniform_from_words(h200(seed).words(count)))
        elif operation == "randn":
            bound = np.asarray(2.0**-18)
        elif operation == "lognormal":
            bound = 2.0**-16 * np.abs(mine)
        else:  # a quotient of __sinf and __cosf, each within 2^-21.19
            bound = 2.0**-20 * (1 + mine**2)
        assert (np.abs(mine - theirs) <= bound).all()
        assert h200(seed).after(count).offset == recorded_offset(torch_cuda, name)


def test_another_gpu_moves_elements_past_its_threads_only() -> None:
    t4 = stream("torch_cuda", "2.11.0", seed=0, offset=0, sm_count=40, threads_per_sm=1024)
    assert isinstance(t4, TorchCuda)
    assert t4.threads(151936) == 40960
    mine, theirs = h200(0).words(151936), t4.words(151936)
    assert np.array_equal(mine[:40960], theirs[:40960])
    assert (mine[40960:] == theirs[40960:]).mean() < 0.001


def test_geometries_of_the_h200_recordings(zoo_gpu: Arrays) -> None:
    for count in (1, 5, 4096, 270335, 270336, 270337, 540675, 1081345):
        prefix, made = "torch_cuda.2.11.0+cu130.", h200(1234)
        words = made.words(count)
        for operation in ("rand", "exponential"):
            name = f"{prefix}{operation}.n{count}"
            at, value = zoo_gpu[f"{name}.index"], zoo_gpu[f"{name}.value"]
            assert made.after(count).offset == zoo_gpu[f"{name}.offset_after"]
            if operation == "rand":
                assert np.array_equal(values.uniform(words[at]), value)
            else:
                u = uniform_from_words(words[at])
                assert (np.abs(values.exponential(u) - value.astype(np.float64)) <= values.exponential_error(u)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_multinomial_randperm_and_dropout(torch_cuda: Arrays, seed: int) -> None:
    made, probs = h200(seed), torch_cuda["multinomial.probs"]
    race = probs / made.exponentials(probs.size).reshape(probs.shape)
    assert np.array_equal(race.argmax(axis=1), torch_cuda[f"multinomial1.seed{seed}"][:, 0])
    assert np.array_equal(race.argmax(axis=1), torch_cuda[f"gumbel_argmax.seed{seed}"])
    best = np.argsort(-race, axis=1, kind="stable")[:, :8]
    assert np.array_equal(best, torch_cuda[f"multinomial8.seed{seed}"])
    cdf = np.cumsum(probs / probs.sum(axis=1, keepdims=True), axis=1, dtype=np.float64)
    assert np.array_equal(made.multinomial_replaced(cdf, 8), torch_cuda[f"multinomial8r.seed{seed}"])
    assert np.array_equal(made.randperm(1000), torch_cuda[f"randperm1000.seed{seed}"])
    assert np.array_equal(made.dropout(5000, 0.4), torch_cuda[f"dropout.seed{seed}"] > 0)


def test_ones_become_zeros() -> None:
    words = np.asarray([0, 0x7FFFFFFF, 0x80000000, 0xFFFFFF7F, 0xFFFFFF80, 0xFFFFFFFF], np.uint32)
    assert values.uniform(words).tolist() == [2.0**-33, 0.5, 0.5, 1 - 2.0**-24, 0, 0]
    assert values.uniform(words, "bfloat16").tolist() == [2.0**-33, 0.5, 0.5, 0, 0, 0]
    noise = values.exponential(uniform_from_words(words))
    assert noise[-3:].tolist() == [2.0**-24] * 3
    assert noise[0] == np.float32(33 * np.log(2))


def test_what_cannot_be_known_is_refused() -> None:
    with pytest.raises(InputError, match="multiple of 4"):
        h200(0, 2)
    with pytest.raises(InputError, match="largest single launch"):
        h200(0).words(2**31)
    with pytest.raises(InputError, match="known below 2\\^16"):
        h200(0).randperm(70000)
    with pytest.raises(InputError, match="dropout is known up to"):
        h200(0).dropout(2_000_000, 0.5)
    with pytest.raises(InputError, match="low < high"):
        h200(0).randint(4, 5, 5)
    with pytest.raises(InputError, match="dtype"):
        h200(0).uniforms(4, "float8")

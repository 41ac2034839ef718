"""Random words as a pure function of a key, on a backend of the caller's choice (docs/spec/rng.md).

    words(StreamKey(seed=42, subsequence=0), start=0, count=4)

`start` counts words of the stream, and every map below reads consecutive words from there on. Backends differ in speed
alone: words and uniforms have the same bits on each. Options of a backend are keywords: `level` and `threads` of
`native`, `device` of `torch`, `triton` and `cuda`.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepinfer.errors import InputError, MissingExtra, unknown_name
from deepinfer.rng import maps
from deepinfer.rng.spec import StreamKey, check_count, u64, u64_array

__all__ = [
    "BACKENDS",
    "StreamKey",
    "log_normal",
    "normal",
    "normal_double",
    "poisson",
    "uniform",
    "uniform2_double",
    "uniform_double",
    "uniform_many",
    "words",
    "words_many",
]

BACKENDS = {
    "reference": "deepinfer.rng.reference",
    "native": "deepinfer.rng.native_impl",
    "torch": "deepinfer.rng.torch_impl",
    "triton": "deepinfer.rng.triton_impl",
    "cuda": "deepinfer.rng.cuda_impl",
}
"""Backend name -> module with `words_many` and `uniform_many`."""


def words_many(
    seeds: ArrayLike, subsequences: ArrayLike, starts: ArrayLike, count: int, backend: str = "reference", **options: Any
) -> NDArray[np.uint32]:
    """Words `start .. start + count - 1` of each stream, uint32[n, count]; the three keys broadcast to n streams."""
    result: NDArray[np.uint32] = _call("words_many", seeds, subsequences, starts, count, backend, options)
    return result


def uniform_many(
    seeds: ArrayLike, subsequences: ArrayLike, starts: ArrayLike, count: int, backend: str = "reference", **options: Any
) -> NDArray[np.float32]:
    """The float map of `words_many`: float32[n, count] in (0, 1], exactly 1.0 for the top 128 words."""
    result: NDArray[np.float32] = _call("uniform_many", seeds, subsequences, starts, count, backend, options)
    return result


def words(key: StreamKey, start: int, count: int, backend: str = "reference", **options: Any) -> NDArray[np.uint32]:
    """Words `start .. start + count - 1` of one stream, uint32[count]. `start` is unsigned 64-bit; the words beyond
    2^64 - 1 follow on without a wrap."""
    one: NDArray[np.uint32] = words_many(*_one(key, start), count, backend, **options)[0]
    return one


def uniform(key: StreamKey, start: int, count: int, backend: str = "reference", **options: Any) -> NDArray[np.float32]:
    """float32[count] in (0, 1], one word each."""
    one: NDArray[np.float32] = uniform_many(*_one(key, start), count, backend, **options)[0]
    return one


def uniform_double(
    key: StreamKey, start: int, count: int, backend: str = "reference", **options: Any
) -> NDArray[np.float64]:
    """float64[count] of 32 bits of randomness, one word each (cuRAND's scalar double call)."""
    return maps.uniform_double_from_words(words(key, start, count, backend, **options))


def uniform2_double(
    key: StreamKey, start: int, count: int, backend: str = "reference", **options: Any
) -> NDArray[np.float64]:
    """float64[count] of 53 bits of randomness, two words each."""
    return maps.uniform2_double_from_words(words(key, start, 2 * check_count(count), backend, **options))


def normal(key: StreamKey, start: int, count: int, backend: str = "reference", **options: Any) -> NDArray[np.float32]:
    """float32[count] by Box-Muller: each pair of values from two words, the sine half first."""
    pairs = (check_count(count) + 1) // 2
    return maps.normal_from_words(words(key, start, 2 * pairs, backend, **options))[:count]


def normal_double(
    key: StreamKey, start: int, count: int, backend: str = "reference", **options: Any
) -> NDArray[np.float64]:
    """float64[count] by Box-Muller: each pair of values from four words, the sine half first."""
    pairs = (check_count(count) + 1) // 2
    return maps.normal_double_from_words(words(key, start, 4 * pairs, backend, **options))[:count]


def log_normal(
    key: StreamKey, start: int, count: int, mean: float, stddev: float, backend: str = "reference", **options: Any
) -> NDArray[np.float32]:
    """exp(mean + stddev * normal), float32[count]."""
    return maps.log_normal_from_normal(normal(key, start, count, backend, **options), mean, stddev)


def poisson(
    key: StreamKey, start: int, count: int, lam: float, backend: str = "reference", **options: Any
) -> NDArray[np.uint32]:
    """uint32[count] with mean `lam`, by cuRAND's rule for that mean; the words taken depend on what is drawn."""
    from deepinfer.rng.poisson_rule import poisson_from_words

    return poisson_from_words(lambda n: words(key, start, n, backend, **options), check_count(count), lam)


def _one(key: StreamKey, start: int) -> tuple[list[int], list[int], list[int]]:
    if not isinstance(key, StreamKey):
        raise InputError(f"key is {key!r}: give StreamKey(seed, subsequence)")
    return [key.seed], [key.subsequence], [u64("start", start)]


def _call(
    name: str,
    seeds: ArrayLike,
    subsequences: ArrayLike,
    starts: ArrayLike,
    count: int,
    backend: str,
    options: dict[str, Any],
) -> Any:
    function = getattr(_backend(backend), name)
    known = [x.name for x in inspect.signature(function).parameters.values() if x.kind is x.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise unknown_name(f"option of backend {backend!r}", option, known or ["none"])
    named = {"seeds": seeds, "subsequences": subsequences, "starts": starts}
    arrays = [u64_array(label, value) for label, value in named.items()]
    try:
        keys = [np.ascontiguousarray(x) for x in np.broadcast_arrays(*arrays)]
    except ValueError:
        lengths = ", ".join(f"{len(x)} {label}" for label, x in zip(named, arrays, strict=True))
        raise InputError(f"got {lengths}: give as many of each, or one that all share") from None
    return function(*keys, check_count(count), **options)


def _backend(name: str) -> Any:
    if name not in BACKENDS:
        raise unknown_name("RNG backend", name, list(BACKENDS))
    try:
        return import_module(BACKENDS[name])
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "triton"):
            raise
        raise MissingExtra(f"RNG backend {name!r}", "engine", error.name) from None

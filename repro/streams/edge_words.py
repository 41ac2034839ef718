"""What every sampler does when the generator gives an extreme word.

A race is driven with one column at the word and the others at a middling one, a scan with the word as its draw. Three
rows are tried: the column as probable as the others, 100 nats behind, and masked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import uniform_from_words
from repro.streams import token_noise
from repro.streams.jax import TINY, mantissa
from repro.streams.samplers import flashinfer, llama_cpp, sglang, vllm_v2
from repro.streams.samplers.numpy_choice import choice
from repro.streams.samplers.rejection import Layout, Limits, draw
from repro.streams.torch_values import exponential
from repro.streams.triton import uniform as triton_uniform

U32 = NDArray[np.uint32]
F64 = NDArray[np.float64]
WORDS = (0, 0x7FFFFFFF, 0x80000000, 0xFFFFFF7F, 0xFFFFFF80, 0xFFFFFFFF)
MIDDLE = 0x5A5A5A5A
COLUMNS, EDGE = 32, 20
BEHIND = -100.0
"""Log-probability of the column when it should never be drawn."""
LAYOUT = Layout(4, 1024, "in turn", True)


@dataclass(frozen=True)
class Driven:
    """One sampler with a rule from words to noise, or from one word to a column of a row of probabilities."""

    engine: str
    version: str
    noise: Callable[[U32], F64] | None = None
    scan: Callable[[F64, int], int] | None = None


@dataclass(frozen=True)
class Edge:
    """`value` is the noise, or the column that a scan returns; `finite` whether the noise is; `behind` and `masked`
    whether the column is drawn 100 nats behind and with probability 0 (a race's masked column scores NaN then; torch's
    argmax takes NaN for the largest, Triton's maximum was not run on it); `outside` whether an id out of range comes
    out."""

    engine: str
    version: str
    word: int
    value: float
    finite: bool
    behind: bool
    masked: bool
    outside: bool


def _torch_cpu(words: U32) -> F64:
    """-ln q of a q from two equal words, 53 bits."""
    wide = (words.astype(np.uint64) << np.uint64(32)) | words
    u = (wide & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53
    noise: F64 = -np.log((-np.log1p(-u)).astype(np.float32).astype(np.float64))
    return noise


def _sglang_race(words: U32) -> F64:
    """As torch on a CPU, with q at least the smallest normal float32."""
    noise: F64 = np.minimum(_torch_cpu(words), -np.log(np.finfo(np.float32).tiny.astype(np.float64)))
    return noise


def _wide(words: U32) -> F64:
    """64 bits of two equal words."""
    return ((words.astype(np.uint64) << np.uint64(32)) | words).astype(np.float64) * 2.0**-64


def _jax_low(words: U32) -> F64:
    u = np.maximum(TINY, mantissa(words) * (np.float32(1) - TINY) + TINY).astype(np.float64)
    noise: F64 = -np.log(-np.log(u))
    return noise


def _jax_high(words: U32) -> F64:
    u = mantissa(words)
    both = np.where(u >= np.float32(0.5), u, u + np.float32(2.0**-23) * u + TINY).astype(np.float64)
    noise: F64 = -np.log(-np.log1p(-both))
    return noise


def _flashinfer_scan(row: F64, word: int) -> int:
    u = uniform_from_words(np.asarray([word], np.uint32))[0]
    return draw(row.astype(np.float32), lambda _: u, Limits(), LAYOUT)


def _numpy_scan(row: F64, word: int) -> int:
    return choice(row, (((word << 32) | word) >> 11) * 2.0**-53)


def _llama_scan(row: F64, word: int) -> int:
    upper = np.cumsum(row)
    return int(np.argmax(upper >= upper[-1] * llama_cpp.uniform_of_words(word, word)))


DRIVEN = (
    Driven("vllm_v1_cuda", "0.33.0", lambda w: -np.log(exponential(uniform_from_words(w)).astype(np.float64))),
    Driven("huggingface_cpu, vllm_v1_cpu", "torch 2.13", _torch_cpu),
    Driven("sglang_race (CPU)", "0.5.23", _sglang_race),
    Driven("vllm_v2", "0.33.0", lambda w: vllm_v2.gumbel(token_noise.vllm_uniform(w))),
    Driven("vllm_v2, float64", "0.33.0", lambda w: vllm_v2.double_gumbel(token_noise.vllm_uniform_double(w, w))),
    Driven("vllm_v2_philox", "0.20.0", lambda w: vllm_v2.double_gumbel(_wide(w))),
    Driven("vllm_v2_philox", "0.22.0", lambda w: vllm_v2.philox_gumbel("0.22.0", triton_uniform(w))),
    Driven("vllm_v2_philox", "0.30.0", lambda w: vllm_v2.philox_gumbel("0.30.0", triton_uniform(w))),
    Driven("sglang", "0.5.23", sglang.gumbel),
    Driven("flashinfer_logits", "0.6.1", lambda w: flashinfer.gumbel("0.6.1", uniform_from_words(w))),
    Driven("flashinfer_logits", "0.7.4", lambda w: flashinfer.gumbel("0.7.4", uniform_from_words(w))),
    Driven("jax, mode low", "0.10.2", _jax_low),
    Driven("jax, mode high", "0.10.2", _jax_high),
    Driven("flashinfer", "0.6.1", scan=_flashinfer_scan),
    Driven("llama_cpp", "0.3.36", scan=_llama_scan),
    Driven("numpy", "2.4.6", scan=_numpy_scan),
)


def edges() -> list[Edge]:
    """Every sampler at every word."""
    return [_race(made, word) if made.noise else _scan(made, word) for made in DRIVEN for word in WORDS]


def _race(made: Driven, word: int) -> Edge:
    assert made.noise is not None
    words = np.full(COLUMNS, MIDDLE, np.uint32)
    words[EDGE] = word
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        noise = made.noise(words)
        drawn = {name: _argmax(noise, gap) for name, gap in (("behind", BEHIND), ("masked", -np.inf))}
    value = float(noise[EDGE])
    return Edge(
        made.engine,
        made.version,
        word,
        value,
        bool(np.isfinite(value)),
        drawn["behind"] == EDGE,
        drawn["masked"] == EDGE,
        not all(0 <= token < COLUMNS for token in drawn.values()),
    )


def _argmax(noise: F64, gap: float) -> int:
    """numpy's argmax, as torch's, takes a NaN for the largest."""
    score = noise.copy()
    score[EDGE] = noise[EDGE] + gap
    return int(score.argmax())


def _scan(made: Driven, word: int) -> Edge:
    """The masked columns are the first and the last here, where a word at either end would fall."""
    assert made.scan is not None
    row = np.full(COLUMNS, 1.0 / (COLUMNS - 2))
    row[[0, -1]] = np.exp(BEHIND)
    behind = made.scan(row, word)
    row[[0, -1]] = 0.0
    masked = made.scan(row, word)
    return Edge(
        made.engine,
        made.version,
        word,
        float(masked),
        True,
        behind in (0, COLUMNS - 1),
        masked in (0, COLUMNS - 1),
        not (0 <= masked < COLUMNS and 0 <= behind < COLUMNS),
    )

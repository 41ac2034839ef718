"""FlashInfer: sampling from probabilities (scan, top-k, top-p, both, min-p) and from logits (Gumbel noise).

The kernel reads curand_init(seed, row of the batch, offset), one uniform a round. With a torch generator the offset is
the one after the call's own advance in 0.6, before it in 0.7. Since 0.7 seeds and offsets may differ by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.rng import words_many
from deepinfer.rng.reference import uniform_from_words
from repro.streams.samplers import block_sums
from repro.streams.samplers.cut import everything
from repro.streams.samplers.params import Params
from repro.streams.samplers.race import HALF_ULP, race
from repro.streams.samplers.rejection import Layout, Limits, draw
from repro.streams.samplers.rejection_paths import tokens_possible
from repro.streams.samplers.result import AMBIGUOUS, CERTAIN, EXACT, Replay

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
ROUNDS = 32
ADVANCES_BEFORE = ("0.6.1",)
"""Versions that hand the kernel the generator's offset after its advance."""
EXACT_BOUND = "none: given probabilities, sums in the order of the kernel's block, both orders of cub inside a thread"
SUM_BOUND = "each running sum within (5/4 V / threads + 40) 2^-24 of itself: softmax, thread, warp, block and tile sums"
NOISE_BOUND = "lg2.approx within 2^-22, absolute from a half to 1 and relative below (every word on an H200), twice"


def replay_probabilities(version: str, rows: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """`rows` are the probabilities the kernel got, the whole batch in order. `call` names the function; its limits are
    top_k, top_p and min_p. With `given` logits they are the softmax of logits made elsewhere and are not known in
    their last bits."""
    count, columns = rows.shape
    threads = 1024 if facts["capability"] >= 8 else 512
    keys = _keys(version, facts, count, count if facts["call"] in ("from_probs", "min_p") else ROUNDS * count)
    error = (1.25 * columns / threads + 40) * 2.0**-24
    fixed = facts["given"] == "probabilities" and version in ADVANCES_BEFORE
    vec = math.gcd(4, columns)
    tokens, certificate, possible = [], [], []
    for row in range(count):
        uniform = _uniforms(*keys[row], row)
        limits = _limits(facts["call"], params, row, columns)
        wide = version in ADVANCES_BEFORE
        orders = block_sums.ORDERS if fixed else block_sums.ORDERS[:1]
        drawn = [draw(rows[row], uniform, limits, Layout(vec, threads, order, wide)) for order in orders]
        token = drawn[0]
        others = set(drawn)
        if not fixed:
            others |= tokens_possible(rows[row].astype(np.float64), uniform, limits, error)
        tokens.append(token)
        possible.append((token, *sorted(others - {token})))
        certificate.append(AMBIGUOUS if len(others) > 1 else EXACT if fixed else CERTAIN)
    bound = EXACT_BOUND if fixed else SUM_BOUND
    return Replay("flashinfer", version, np.asarray(tokens, np.int64), tuple(certificate), tuple(possible), bound)


def replay_logits(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """sampling_from_logits of float32 logits, the whole batch in order: argmax(logit + noise), the last of equals."""
    count, columns = logits.shape
    if (params.temperature != 1).any() or params.filtered.any() or (params.top_k < columns).any():
        raise InputError("sampling_from_logits takes final logits: leave temperature, top_k, top_p and min_p alone")
    keys = _keys(version, facts, count, count * columns)
    noise = np.stack([noise_of_row(version, *keys[row], row, columns) for row in range(count)])
    score = logits.astype(np.float64) + noise
    error = 2.0**-21 * (1 + np.abs(noise)) + _near_one(noise) + HALF_ULP * np.abs(score)
    cut = everything(logits)
    return race("flashinfer_logits", version, score, np.where(cut.kept, error, 0.0), cut, NOISE_BOUND, last=True)


def _keys(version: str, facts: dict[str, Any], count: int, words: int) -> list[tuple[int, int]]:
    """(seed, offset) of each row. A generator advances by the words it reserves, rounded up to four."""
    if facts["source"] == "explicit":
        if version in ADVANCES_BEFORE and (len(set(facts["seed"])) > 1 or len(set(facts["offset"])) > 1):
            raise InputError(f"flashinfer {version} takes one seed and one offset for all rows: give one of each")
        return list(zip(facts["seed"], facts["offset"], strict=True))
    advance = -(-words // 4) * 4 if version in ADVANCES_BEFORE else 0
    return [(facts["seed"][0], facts["offset"][0] + advance)] * count


def _uniforms(seed: int, offset: int, row: int) -> Callable[[int], np.float32]:
    """The row's n-th uniform, for any n."""
    first = uniform_from_words(words_many([seed], [row], [offset], ROUNDS)).reshape(-1)

    def uniform(index: int) -> np.float32:
        if index < ROUNDS:
            return np.float32(first[index])
        return np.float32(uniform_from_words(words_many([seed], [row], [offset + index], 1))[0, 0])

    return uniform


def _limits(call: str, params: Params, row: int, columns: int) -> Limits:
    k, p = int(params.top_k[row]), np.float32(params.top_p[row])
    made = {
        "from_probs": Limits(),
        "top_k": Limits(top_k=k),
        "top_p": Limits(top_p=p),
        "top_k_top_p": Limits(top_k=k, top_p=p),
        "min_p": Limits(min_p=np.float32(params.min_p[row])),
    }
    return made[call]


def noise_of_row(version: str, seed: int, offset: int, row: int, columns: int) -> F64:
    """Noise of one row: `vec` columns a thread share a subsequence, row times columns wraps at 2^32."""
    vec = math.gcd(4, columns)
    first = (row * columns) % 2**32 + np.arange(0, columns, vec, dtype=np.uint64)
    words = words_many([seed], first & np.uint64(0xFFFFFFFF), [offset], 4)[:, :vec].reshape(-1)
    return gumbel(version, uniform_from_words(words))


def gumbel(version: str, u: F32) -> F64:
    """-ln 2 log2(-log2 u): 0.6 adds 1e-20 to both arguments, 0.7 scales u by 1 - 2^-23."""
    if version in ADVANCES_BEFORE:
        tiny = np.float32(1e-20)
        inner = (-np.log2((u + tiny).astype(np.float64))).astype(np.float32) + tiny
    else:
        inner = (-np.log2((u * np.float32(1 - 2.0**-23)).astype(np.float64))).astype(np.float32)
    noise: F64 = -np.log(2) * np.log2(inner.astype(np.float64))
    return noise


def _near_one(noise: F64) -> F64:
    """How far the noise, -ln of the inner logarithm, moves when that is off by 2^-22: much as u nears 1."""
    moved: F64 = np.minimum(2.0**-22 * np.exp(np.minimum(noise, 40.0)), 40.0)
    return moved

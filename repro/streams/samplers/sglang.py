"""SGLang: seeded rows race with noise of (seed, position, column) in float64; unseeded rows race with torch's noise.

The column is the token id while no row of the batch filters, and the rank in the sorted row as soon as one does. Top-p
there is a share of the whole row's mass, top-k or not, and cuts even at 1 where the float32 running sum passes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from repro.streams.murmur3 import token_hashes
from repro.streams.samplers import cut as cuts
from repro.streams.samplers.params import Params
from repro.streams.samplers.race import race
from repro.streams.samplers.result import Replay
from repro.streams.samplers.torch_race import noise_of_batch, race_of_probabilities
from repro.streams.token_noise import sglang_uniform

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
LANES = 8
"""Of a CPU's sums; a GPU's are shorter."""
BOUND = "log-probabilities within 2^-21 + 2^-22 of themselves (float32 exponential, logarithm), noise within 2^-48"


def replay(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """`path` id or rank. Tokens of the rank path come from the sorted row; ties of probability sort in any order."""
    if facts["path"] == "id":
        _refuse_filters(params, logits.shape[1])
    if (params.min_p > 0).any():
        raise InputError("min_p with a seed: SGLang 0.5.23 asserts, leave min_p at 0")
    scaled = logits / params.temperature[:, None]
    words = token_hashes(facts["seed"], facts["position"], np.arange(logits.shape[1]))
    noise = gumbel(words)
    order, cut = _columns(scaled, params, facts["path"])
    logprob = _log(cuts.softmax(scaled))
    score = logprob + np.take_along_axis(noise, np.argsort(order, axis=1), axis=1)
    error = np.where(cut.kept | cut.doubtful, 2.0**-21 + 2.0**-22 * np.abs(logprob), 0.0)
    made = race("sglang", version, score, np.where(np.isfinite(error), error, 0.0), cut, BOUND)
    return made if facts["path"] == "id" else _with_ties(made, scaled, noise, order, logprob)


def replay_race(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """Unseeded rows: probability / exponential noise, the rows being the whole batch; on the rank path noise goes by
    rank. `device` cpu or cuda."""
    scaled = logits / params.temperature[:, None]
    if facts["path"] == "id":
        _refuse_filters(params, logits.shape[1])
    order, cut = _columns(scaled, params, facts["path"])
    if (params.min_p > 0).any():
        cut = cuts.min_p_share(scaled, cut, params.min_p, cuts.sum_error(logits.shape[1], LANES))
    noise, error = noise_of_batch(facts["device"], facts, *logits.shape)
    back = np.argsort(order, axis=1)
    noise, error = np.take_along_axis(noise, back, axis=1), np.take_along_axis(error, back, axis=1)
    return race_of_probabilities("sglang_race", version, scaled, cut, noise, error)


def gumbel(words: NDArray[np.uint32]) -> F64:
    """-ln(-ln x), the inner one at least 2^-32 and finite."""
    with np.errstate(divide="ignore"):
        inner = np.clip(np.log(sglang_uniform(words)), np.finfo(np.float64).min, -(2.0**-32))
    noise: F64 = -np.log(-inner)
    return noise


def _columns(scaled: F32, params: Params, path: str) -> tuple[NDArray[np.int64], cuts.Cut]:
    """The token at each noise column, and what survives."""
    if path == "id":
        order = np.broadcast_to(np.arange(scaled.shape[1]), scaled.shape)
        return order, cuts.everything(scaled)
    order = np.argsort(-scaled, axis=1, kind="stable")
    probability = np.take_along_axis(cuts.softmax(scaled), order, axis=1)
    before = np.cumsum(probability, axis=1) - probability
    rank = np.arange(scaled.shape[1])
    limit = params.top_p.astype(np.float64)[:, None]
    error = cuts.sum_error(scaled.shape[1], LANES)
    chosen = (rank < params.top_k[:, None]) & (before <= limit)
    close = (rank < params.top_k[:, None]) & (np.abs(before - limit) <= error) & (rank > 0)
    kept, doubtful = np.zeros(scaled.shape, np.bool_), np.zeros(scaled.shape, np.bool_)
    np.put_along_axis(kept, order, chosen, axis=1)
    np.put_along_axis(doubtful, order, close, axis=1)
    alive = scaled > -np.inf
    return order, cuts.Cut(kept & alive, doubtful & alive)


def _with_ties(made: Replay, scaled: F32, noise: F64, order: NDArray[np.int64], logprob: F64) -> Replay:
    """Equal logits may stand in any order in the sorted row, so each of them may have got the winner's rank."""
    possible, certificate = [], []
    for row, allowed in enumerate(made.possible):
        tied = {int(column) for token in allowed for column in np.flatnonzero(scaled[row] == scaled[row, token])}
        possible.append((allowed[0], *sorted(tied - {allowed[0]})))
        certificate.append(made.certificate[row] if len(tied) == len(allowed) else "ambiguous")
    return Replay(
        made.engine,
        made.version,
        made.tokens,
        tuple(certificate),
        tuple(possible),
        made.bound,
        made.kept,
        made.doubtful,
    )


def _log(probability: F64) -> F64:
    with np.errstate(divide="ignore"):
        return np.log(probability)


def _refuse_filters(params: Params, columns: int) -> None:
    if params.filtered.any() or (params.top_k < columns).any():
        raise InputError("a filter on path id: one filtered row sends the whole batch down path rank, give path rank")

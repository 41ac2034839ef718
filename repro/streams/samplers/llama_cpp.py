"""llama.cpp: a chain of samplers on a list of candidates, then one uniform of MT19937 through the running sum.

The candidates' order decides the token: top_k and top_p sort them, min_p and temperature do not. Sources:
src/llama-sampling.cpp, llama-cpp-python 0.3.36 run here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.streams.mt19937 import mt19937_words
from repro.streams.samplers.params import Params
from repro.streams.samplers.result import AMBIGUOUS, CERTAIN, Replay

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
CHAINS = ("temperature last", "temperature first")
BOUND = "expf within 1 unit in the last place, sums in float64; top-p within 2^-20 of its float32 running sum"
EXPF_ERROR = 2.0**-22
TOP_P_ERROR = 2.0**-20


def replay(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """Candidates come in token order. `draws` counts the tokens that the row's sampler drew before; `chain` says where
    the temperature stands (llama.cpp's default: last)."""
    tokens, certificate, possible = [], [], []
    kept = np.zeros(logits.shape, np.bool_)
    for row in range(len(logits)):
        u = uniform(facts["seed"][row], facts["draws"][row])
        ids, values, doubt = _chain(logits[row], params, row, facts["chain"])
        kept[row, ids] = True
        allowed = _draw(ids, values, u)
        for other_ids, other_values in doubt:
            allowed += [token for token in _draw(other_ids, other_values, u) if token not in allowed]
        allowed = _with_ties(allowed, logits[row], bool(params.top_k_given[row] or params.top_p[row] < 1))
        tokens.append(allowed[0])
        possible.append(tuple(allowed))
        certificate.append(CERTAIN if len(allowed) == 1 else AMBIGUOUS)
    return Replay("llama_cpp", version, np.asarray(tokens), tuple(certificate), tuple(possible), BOUND, kept)


def uniform(seed: int, draws: int) -> float:
    """std::uniform_real_distribution<double> of libstdc++: two words a draw."""
    low, high = mt19937_words(seed, 2 * draws, 2).tolist()
    return uniform_of_words(low, high)


def uniform_of_words(low: int, high: int) -> float:
    """In [0, 1): the first word is the lower half, and what rounds to 1 becomes the float64 below."""
    return min(float((low + high * 2.0**32) / 2.0**64), 1 - 2.0**-53)


def _chain(row: F32, params: Params, index: int, chain: str) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    """Candidates that reach the draw: ids, logits, and the lists that a last bit of top-p would leave instead.

    A top_k of every column or more removes none but sorts."""
    ids, values = np.flatnonzero(row > -np.inf), row[row > -np.inf]
    heat, k = params.temperature[index], int(params.top_k[index])
    p, low = float(params.top_p[index]), float(params.min_p[index])
    if chain == "temperature first" and heat != 1:
        values = values / heat
    if params.top_k_given[index]:
        order = _sorted(values, k)
        ids, values = ids[order], values[order]
    lists = [(ids, values)]
    if p < 1:
        order = _sorted(values, len(values))
        ids, values = ids[order], values[order]
        sizes = _top_p(values, p)
        lists = [(ids[:size], values[:size]) for size in sizes]
    if low > 0:
        lists = [(i[v >= _floor(v, low)], v[v >= _floor(v, low)]) for i, v in lists]
    if chain == "temperature last" and heat != 1:
        lists = [(i, v / heat) for i, v in lists]
    return lists[0][0], lists[0][1], lists[1:]


def _sorted(values: F32, count: int) -> NDArray[np.int64]:
    """The `count` largest, in descending order."""
    return np.argsort(-values, kind="stable")[:count]


def _with_ties(tokens: list[int], row: F32, sorts: bool) -> list[int]:
    """std::sort is not stable: once the candidates are sorted, equal logits may stand in any order."""
    if not sorts:
        return tokens
    tied = [column for token in tokens for column in np.flatnonzero(row == row[token]).tolist()]
    return tokens + [column for column in dict.fromkeys(tied) if column not in tokens]


def _top_p(values: F32, p: float) -> list[int]:
    """How many of the sorted candidates stay, first the likeliest count."""
    powers = np.exp((values - values.max()).astype(np.float64))
    total = np.cumsum(powers / powers.sum())
    likely = int(np.argmax(total >= p)) + 1 if total[-1] >= p else len(values)
    least = int(np.argmax(total >= p - TOP_P_ERROR)) + 1 if total[-1] >= p - TOP_P_ERROR else len(values)
    most = int(np.argmax(total >= p + TOP_P_ERROR)) + 1 if total[-1] >= p + TOP_P_ERROR else len(values)
    return [likely, *(size for size in range(least, most + 1) if size != likely)]


def _floor(values: F32, low: float) -> np.float32:
    return np.float32(values.max() + np.float32(np.log(np.float32(low))))


def _draw(ids: NDArray[np.int64], values: F32, u: float) -> list[int]:
    """The first candidate whose running sum reaches u times the sum, and those that a last bit of expf could give."""
    powers = np.exp((values - values.max()).astype(np.float32).astype(np.float64)).astype(np.float32)
    upper = np.cumsum(powers.astype(np.float64))
    target = upper[-1] * u
    slack = EXPF_ERROR * upper
    can = np.flatnonzero((upper + slack >= target - EXPF_ERROR * target) & (upper - powers - slack < target))
    first = int(np.argmax(upper >= target))
    return [int(ids[first]), *(int(ids[column]) for column in can.tolist() if column != first)]

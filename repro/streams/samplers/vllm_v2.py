"""vLLM's V2 sampler: temperature, min-p, top-k, top-p, then argmax(logit + Gumbel noise of (seed, position, token)).

The noise is MurmurHash3 since 0.31; before, a Philox word of the position keyed the tokens' blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.streams import token_noise as tokens
from repro.streams.samplers import cut as cuts
from repro.streams.samplers.params import Params
from repro.streams.samplers.race import HALF_ULP, race
from repro.streams.samplers.result import Replay
from repro.streams.samplers.vllm_v1 import BAND

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
SERIES_BELOW = np.float32(0.25)
FLOAT_BOUND = "noise within 2^-21 + 2^-22 |noise| (two logarithms of 2 units in the last place), one rounded sum"
DOUBLE_BOUND = "noise within 2^-48 + 2^-48 |noise| in float64"


def replay(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """`precision` float32 is the default, float64 VLLM's use_fp64 option; `role` draft adds 2^30 to the position."""
    scaled, cut, logit_error = filtered(logits, params)
    columns, role = logits.shape[1], facts["role"]
    words = tokens.vllm_hashes(facts["seed"], facts["position"], columns, role)
    if facts["precision"] == "float64":
        second = tokens.vllm_hashes(facts["seed"], facts["position"], columns, role, tokens.SECOND_WORD)
        return _double_race("vllm_v2", version, scaled, tokens.vllm_uniform_double(words, second), logit_error, cut)
    noise = gumbel(tokens.vllm_uniform(words))
    return _float_race("vllm_v2", version, scaled, noise, logit_error, cut)


def replay_philox(version: str, logits: F32, params: Params, facts: dict[str, Any]) -> Replay:
    """Versions whose noise is tl.rand: always float64 in 0.20, -log(-log u) in 0.22, -log(-log1p(-u)) since 0.25; a
    draft's position is salted since 0.30."""
    scaled, cut, logit_error = filtered(logits, params)
    salt = tokens.DRAFT_SALT if facts["role"] == "draft" and version == "0.30.0" else 0
    pairs = zip(facts["seed"], facts["position"], strict=True)
    streams = [tokens.VllmV2PhiloxNoise(seed % 2**64, position + salt) for seed, position in pairs]
    if is_double(version, facts["precision"]):
        wide = np.stack([made.uniform_doubles(logits.shape[1]) for made in streams])
        return _double_race("vllm_v2_philox", version, scaled, wide, logit_error, cut)
    u = np.stack([made.uniforms(logits.shape[1]) for made in streams])
    return _float_race("vllm_v2_philox", version, scaled, philox_gumbel(version, u), logit_error, cut)


def is_double(version: str, precision: str) -> bool:
    """Whether the noise is float64: always in 0.20."""
    return version == "0.20.0" or precision == "float64"


def philox_gumbel(version: str, u: F32) -> F64:
    """-ln(-ln u) in 0.22, -ln(-log1p(-u)) since; u is kept above the smallest normal float32, or tl.rand's least."""
    if version == "0.22.0":
        inner: F64 = -np.log(np.maximum(u, np.float32(2.0**-126)).astype(np.float64))
    else:
        inner = -np.log1p(-np.maximum(u, np.float32(4.6566127342e-10)).astype(np.float64))
    return -np.log(inner)


def double_gumbel(u: F64) -> F64:
    """-ln(-ln u) in float64; u is kept above the smallest normal number, 1 gives infinity."""
    with np.errstate(divide="ignore"):
        noise: F64 = -np.log(-np.log(np.maximum(u, 2.0**-1022)))
    return noise


def _double_race(engine: str, version: str, scaled: F32, u: F64, logit_error: F64, cut: cuts.Cut) -> Replay:
    noise = double_gumbel(u)
    error = logit_error + 2.0**-48 * (1 + np.abs(noise))
    return race(engine, version, scaled.astype(np.float64) + noise, error, cut, DOUBLE_BOUND)


def _float_race(engine: str, version: str, scaled: F32, noise: F64, logit_error: F64, cut: cuts.Cut) -> Replay:
    score = scaled.astype(np.float64) + noise
    with np.errstate(invalid="ignore"):
        error = logit_error + 2.0**-21 + 2.0**-22 * np.abs(noise) + HALF_ULP * np.abs(score)
    return race(engine, version, score, np.where(np.isfinite(error), error, 0.0), cut, FLOAT_BOUND)


def gumbel(u: F32) -> F64:
    """-ln(L): below a quarter L is the degree-8 series of -ln(1 - u), else -ln of the float32 difference 1 - u."""
    x = u.astype(np.float64)
    series = np.full(x.shape, 1 / 8)
    for degree in (7, 6, 5, 4, 3, 2):
        series = 1 / degree + x * series
    series = x * (1 + x * series)
    direct = -np.log(np.maximum(np.float32(1) - u, np.float32(2.0**-24)).astype(np.float64))
    with np.errstate(divide="ignore"):
        noise: F64 = -np.log(np.where(u < SERIES_BELOW, series, direct))
    return noise


def filtered(logits: F32, params: Params) -> tuple[F32, cuts.Cut, F64]:
    """Logits after the temperature (a division within 2 units in the last place; none at 1), what survives, and how far
    a logit may be off."""
    scaled = logits / params.temperature[:, None]
    with np.errstate(invalid="ignore"):
        off = np.where(params.temperature[:, None] == 1, 0.0, 2.0**-22 * np.abs(scaled.astype(np.float64)))
    error = cuts.sum_error(logits.shape[1], 128)
    first = cuts.min_p_share(scaled, cuts.everything(scaled), params.min_p, 2.0**-18)
    left = cuts.top_k_first_ties(np.where(first.kept, scaled, np.float32(-np.inf)), params.top_k)
    cut = cuts.top_p_mass(left, params.top_p, error, BAND)
    doubtful = cut.doubtful | (first.doubtful & (left > -np.inf))
    return scaled, cuts.Cut(cut.kept, doubtful), np.where(np.isfinite(off), off, 0.0)

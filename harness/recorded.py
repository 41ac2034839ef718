"""The recorded outputs of DeepInfer 0.1.0's own kernel (on an H200) and the inputs they belong to.

Inside harness/data/deepinfer-0.1.0 there is one npz a kind; a configuration is a set of sampling parameters. Nothing
is computed here but the inputs that are a formula of stored ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import unknown_name

Array = NDArray[Any]

RECORDING = "deepinfer-0.1.0"
CONFIGS: Mapping[str, Mapping[str, float | int]] = {
    "engine": {"temperature": 1.0, "top_p": 0.99, "top_k": -1},
    "narrow": {"temperature": 1.0, "top_p": 0.5, "top_k": 128},
    "nofilter": {"temperature": 1.0, "top_p": 1.0, "top_k": -1},
    "k50p.9": {"temperature": 1.0, "top_p": 0.9, "top_k": 50},
    "k1": {"temperature": 1.0, "top_p": 1.0, "top_k": 1},
    "greedyish": {"temperature": 1e-5, "top_p": 1.0, "top_k": -1},
}
FRESH_KINDS = (
    "real", "normal", "normal3", "normal3_1024", "normal3_129280", "ternary", "ternary_1024", "zeros", "bf16_full",
)  # fmt: skip
"""Kinds whose rows draw a fresh token from logits."""
VERIFY_KINDS = ("verify", "verify_fresh", "penalty_residual")
"""Rows with a draft token: `verify` the verified ones, `verify_fresh` the others of the same call."""
DRAW_KINDS = ("random_sampling_1024", "random_sampling_4096", "random_sampling_129280")
"""Rows of probabilities: the integer sampler alone; their configurations are `next0` and `next1` (the purpose)."""
DRAW_CONFIGS = ("next0", "next1")
ZEROS_SHAPE = (250, 4096)


def configs(kind: str) -> tuple[str, ...]:
    """The configurations recorded for `kind`."""
    if kind in DRAW_KINDS:
        return DRAW_CONFIGS
    if kind == "penalty_residual":
        return ("nofilter",)
    if kind in ("verify", "verify_fresh"):
        return ("engine", "narrow", "nofilter")
    if kind == "bf16_full":
        return ("engine", "narrow", "nofilter", "k50p.9")
    if kind in FRESH_KINDS:
        return tuple(CONFIGS)
    raise unknown_name("kind of recorded case", kind, FRESH_KINDS + VERIFY_KINDS + DRAW_KINDS)


def load_inputs(kind: str, config: str) -> dict[str, Any]:
    """The inputs of one recorded case: the fields of SamplerInputs (or of `draw_tokens`) and the options."""
    if config not in configs(kind):
        raise unknown_name(f"configuration of {kind}", config, configs(kind))
    options = {"draw": "modulo_reject", "numbering": "deepinfer"}
    if kind in DRAW_KINDS:
        return _draw_inputs(int(kind.rsplit("_", 1)[1]), int(config[-1])) | options
    if kind == "penalty_residual":
        return _penalty_inputs() | dict(CONFIGS[config]) | options
    stored = load_npz("verify" if kind in VERIFY_KINDS else kind)
    inputs: dict[str, Any] = {"logits": _logits(kind, stored)}
    inputs |= CONFIGS[config]
    inputs |= {"seq_seed": stored["seeds"], "position": stored["positions"].astype(np.int64)}
    if kind in VERIFY_KINDS:
        inputs |= {name: stored[name] for name in ("draft_logprobs", "draft_ids", "is_verify")}
        rows = _verify_rows(kind, stored)
        inputs = {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in inputs.items()}
    return inputs | options


def load_outputs(kind: str, config: str) -> dict[str, Array]:
    """What the kernel returned, under the harness's names, one entry a row (`logprobs8`: the first eight rows).

    `tokens` int32[Q]; `kept` bool[Q, V] where the masks were recorded, else `kept_count` int32[Q]; `lse` float32[Q, 2]
    (lse0 before renormalisation, lse1); `logprobs8` float32[8, V]; for verification `accept`, `accept_prob`,
    `draft_selected` (the draft token's log-probability).
    """
    if config not in configs(kind):
        raise unknown_name(f"configuration of {kind}", config, configs(kind))
    if kind in DRAW_KINDS:
        return {"tokens": load_npz("random_sampling")[f"V{kind.rsplit('_', 1)[1]}.{config}.tokens"]}
    if kind == "penalty_residual":
        stored = load_npz(kind)
        return {"tokens": stored["tokens"], "accept": stored["accept"], "accept_prob": stored["accept_probs"]}
    if kind in VERIFY_KINDS:
        stored = load_npz("verify")
        rows = _verify_rows(kind, stored)
        names = {"accept_probs": "accept_prob"}
        found = ("tokens", "accept", "accept_probs", "draft_selected")
        return {names.get(name, name): stored[f"{config}.{name}"][rows] for name in found}
    stored = load_npz(kind)
    answers = {name: stored[f"{config}.{name}"] for name in ("tokens", "lse")}
    if f"{config}.logprobs8" in stored:
        answers["logprobs8"] = stored[f"{config}.logprobs8"]
    if f"{config}.keptbits" in stored:
        columns = _columns(kind, stored)
        answers["kept"] = np.unpackbits(stored[f"{config}.keptbits"], axis=1, count=columns).astype(np.bool_)
    else:
        answers["kept_count"] = stored[f"{config}.kept"]
    return answers


def load_npz(kind: str) -> dict[str, Array]:
    """Every array of one stored file."""
    place = resources.files("harness") / "data" / RECORDING / f"{kind}.npz"
    with place.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _logits(kind: str, stored: Mapping[str, Array]) -> Array:
    if kind == "zeros":
        zeros = np.zeros(ZEROS_SHAPE, np.float32)
        zeros[:, ::2] = np.float32(-0.0)
        return zeros
    if kind == "normal3":
        return np.float32(3) * load_npz("normal")["logits"]
    if kind == "ternary":
        return stored["logits_i8"].astype(np.float32)
    if kind == "bf16_full":
        return (stored["logits_bf16_bits"].astype(np.uint32) << np.uint32(16)).view(np.float32)
    return stored["logits"]


def _columns(kind: str, stored: Mapping[str, Array]) -> int:
    for name in ("logits", "logits_i8", "logits_bf16_bits"):
        if name in stored:
            return int(stored[name].shape[1])
    return ZEROS_SHAPE[1]


def _verify_rows(kind: str, stored: Mapping[str, Array]) -> Array:
    return np.flatnonzero(stored["is_verify"] if kind == "verify" else ~stored["is_verify"])


def _draw_inputs(columns: int, purpose: int) -> dict[str, Any]:
    stored = load_npz("random_sampling")
    prefix = f"V{columns}"
    if columns == 129280:
        probs = np.zeros((36, columns), np.float32)
        sparse = stored[f"{prefix}.sparse_rows0_31.columns"]
        np.put_along_axis(probs[:32], sparse.astype(np.int64), stored[f"{prefix}.sparse_rows0_31.values"], axis=1)
        probs[32:] = stored[f"{prefix}.dense_rows32_35"]
    else:
        probs = stored[f"{prefix}.probs"]
    position = stored[f"{prefix}.positions"].astype(np.int64)
    return {"probs": probs, "seq_seed": stored[f"{prefix}.seeds"], "position": position, "purpose": purpose}


def _penalty_inputs() -> dict[str, Any]:
    stored = load_npz("penalty_residual")
    rows, columns = stored["draft_logprobs"].shape
    logits = np.zeros((rows, columns), np.float32)
    logits[:, 0] = -np.inf
    logits[:, -2:] = np.float32(0.005)
    return {
        "logits": logits,
        "seq_seed": np.arange(rows, dtype=np.uint64),
        "position": np.zeros(rows, np.int64),
        "draft_logprobs": stored["draft_logprobs"],
        "draft_ids": stored["draft_ids"],
        "is_verify": np.ones(rows, np.bool_),
    }

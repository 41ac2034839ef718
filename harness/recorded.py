"""The recorded outputs of DeepInfer 0.1.0's own kernel (on an H200) and the inputs they belong to.

Inside harness/data/deepinfer-0.1.0 there is one npz a kind; a configuration is a set of sampling parameters. Nothing
is computed here but the inputs that are a formula of stored ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
    return Library().inputs(kind, config)


class Library:
    """Recorded inputs. The arrays of the last kind stay in memory, read-only, for the next configuration of it."""

    def __init__(self) -> None:
        self._kind = ""
        self._arrays: dict[str, Array] = {}

    def inputs(self, kind: str, config: str) -> dict[str, Any]:
        """As `load_inputs`."""
        _check(kind, config)
        if kind != self._kind:
            self._arrays = _load_arrays(kind)
            for array in self._arrays.values():
                array.flags.writeable = False
            self._kind = kind
        parameters = {"purpose": int(config[-1])} if kind in DRAW_KINDS else dict(CONFIGS[config])
        return {**self._arrays, **parameters, "draw": "modulo_reject", "numbering": "deepinfer"}

    def grown(self, kind: str, config: str, blocks: int) -> dict[str, Any]:
        """The rows of `inputs`, then the same rows again at positions that none of them had: other random words.

        Nothing was recorded for the rows after the first block.
        """
        inputs = self.inputs(kind, config)
        rows, stride = len(inputs["position"]), int(inputs["position"].max()) + 1
        grown = {
            name: np.concatenate([value] * blocks) if isinstance(value, np.ndarray) else value
            for name, value in inputs.items()
        }
        grown["position"] += np.repeat(np.arange(blocks, dtype=np.int64) * stride, rows)
        return grown


def _load_arrays(kind: str) -> dict[str, Array]:
    if kind in DRAW_KINDS:
        return _draw_arrays(int(kind.rsplit("_", 1)[1]))
    if kind == "penalty_residual":
        return _penalty_arrays()
    with stored_file(kind) as stored:
        arrays = {"logits": _logits(kind, stored)}
        arrays |= {"seq_seed": stored["seeds"], "position": stored["positions"].astype(np.int64)}
        if kind in VERIFY_KINDS:
            rows = _verify_rows(kind, stored)
            arrays |= {name: stored[name] for name in ("draft_logprobs", "draft_ids", "is_verify")}
            arrays = {name: array[rows] for name, array in arrays.items()}
    return arrays


def output_names(kind: str, config: str) -> tuple[str, ...]:
    """What `load_outputs` answers, without reading it."""
    _check(kind, config)
    with stored_file(kind) as stored:
        return tuple(_keys(kind, config, stored))


def load_outputs(kind: str, config: str) -> dict[str, Array]:
    """What the kernel returned, under the harness's names, one entry a row (`logprobs8`: the first eight rows).

    `tokens` int32[Q]; `kept` bool[Q, V] where the masks were recorded, else `kept_count` int32[Q]; `lse` float32[Q, 2]
    (lse0 before renormalisation, lse1); `logprobs8` float32[8, V]; for verification `accept`, `accept_prob`,
    `draft_selected` (the draft token's log-probability).
    """
    _check(kind, config)
    with stored_file(kind) as stored:
        answers = {name: stored[key] for name, key in _keys(kind, config, stored).items()}
        if "kept" in answers:
            answers["kept"] = np.unpackbits(answers["kept"], axis=1).astype(np.bool_)
        if kind in VERIFY_KINDS and kind != "penalty_residual":
            rows = _verify_rows(kind, stored)
            answers = {name: array[rows] for name, array in answers.items()}
    return answers


@contextmanager
def stored_file(kind: str) -> Iterator[Any]:
    """The npz that holds `kind`, open; arrays are read when they are asked for."""
    name = "verify" if kind == "verify_fresh" else "random_sampling" if kind in DRAW_KINDS else kind
    place = resources.files("harness") / "data" / RECORDING / f"{name}.npz"
    with place.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        yield stored


def _check(kind: str, config: str) -> None:
    if config not in configs(kind):
        raise unknown_name(f"configuration of {kind}", config, configs(kind))


def _keys(kind: str, config: str, stored: Any) -> dict[str, str]:
    """Output name -> name in the stored file."""
    if kind in DRAW_KINDS:
        return {"tokens": f"V{kind.rsplit('_', 1)[1]}.{config}.tokens"}
    if kind == "penalty_residual":
        return {"tokens": "tokens", "accept": "accept", "accept_prob": "accept_probs"}
    if kind in VERIFY_KINDS:
        found = {
            "tokens": "tokens",
            "accept": "accept",
            "accept_prob": "accept_probs",
            "draft_selected": "draft_selected",
        }
        return {name: f"{config}.{key}" for name, key in found.items()}
    masks = f"{config}.keptbits" in stored.files
    keys = {"tokens": "tokens", "lse": "lse", **({"kept": "keptbits"} if masks else {"kept_count": "kept"})}
    if f"{config}.logprobs8" in stored.files:
        keys["logprobs8"] = "logprobs8"
    return {name: f"{config}.{key}" for name, key in keys.items()}


def _logits(kind: str, stored: Any) -> Array:
    logits: Array
    if kind == "zeros":
        logits = np.zeros(ZEROS_SHAPE, np.float32)
        logits[:, ::2] = np.float32(-0.0)
    elif kind == "normal3":
        with stored_file("normal") as normal:
            logits = np.float32(3) * normal["logits"]
    elif kind == "ternary":
        logits = stored["logits_i8"].astype(np.float32)
    elif kind == "bf16_full":
        logits = (stored["logits_bf16_bits"].astype(np.uint32) << np.uint32(16)).view(np.float32)
    else:
        logits = stored["logits"]
    return logits


def _verify_rows(kind: str, stored: Any) -> NDArray[np.int64]:
    verified = stored["is_verify"]
    return np.flatnonzero(verified if kind == "verify" else ~verified)


def _draw_arrays(columns: int) -> dict[str, Array]:
    prefix = f"V{columns}"
    with stored_file("random_sampling_1024") as stored:
        if columns == 129280:
            probs = np.zeros((36, columns), np.float32)
            at = stored[f"{prefix}.sparse_rows0_31.columns"].astype(np.int64)
            np.put_along_axis(probs[: len(at)], at, stored[f"{prefix}.sparse_rows0_31.values"], axis=1)
            probs[len(at) :] = stored[f"{prefix}.dense_rows32_35"]
        else:
            probs = stored[f"{prefix}.probs"]
        seeds, positions = stored[f"{prefix}.seeds"], stored[f"{prefix}.positions"].astype(np.int64)
    return {"probs": probs, "seq_seed": seeds, "position": positions}


def _penalty_arrays() -> dict[str, Array]:
    with stored_file("penalty_residual") as stored:
        draft_logprobs, draft_ids = stored["draft_logprobs"], stored["draft_ids"]
    rows = len(draft_ids)
    logits = np.zeros(draft_logprobs.shape, np.float32)
    logits[:, 0] = -np.inf
    logits[:, -2:] = np.float32(0.005)
    return {
        "logits": logits,
        "seq_seed": np.arange(rows, dtype=np.uint64),
        "position": np.zeros(rows, np.int64),
        "draft_logprobs": draft_logprobs,
        "draft_ids": draft_ids,
        "is_verify": np.ones(rows, np.bool_),
    }

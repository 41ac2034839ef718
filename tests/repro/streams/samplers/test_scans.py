"""FlashInfer, llama.cpp, NumPy, TensorRT-LLM and DeepInfer: a uniform through a running sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from deepinfer.errors import InputError
from repro.streams.samplers import AMBIGUOUS, replay

from .conftest import ROOT, softmax
from .helpers import B, check

if TYPE_CHECKING:
    from .conftest import Zoo

H200 = {"capability": 9}
FROM_GENERATOR = {"seed": 5, "source": "generator"}


@pytest.mark.parametrize(
    ("call", "name", "limits"),
    [
        ("from_probs", "sampling_from_probs", {}),
        ("top_p", "top_p", {"top_p": 0.9}),
        ("top_k", "top_k", {"top_k": 50}),
        ("top_k_top_p", "top_k_top_p", {"top_k": 50, "top_p": 0.9}),
        ("min_p", "min_p", {"min_p": 0.1}),
    ],
)
def test_flashinfer_on_given_probabilities(zoo: Zoo, call: str, name: str, limits: dict[str, float]) -> None:
    facts = {"seed": 1234, "offset": 0, "source": "explicit", "call": call, **H200}
    rows, recorded = zoo.flashinfer["probs"], zoo.flashinfer[f"{name}.seed1234.off0"]
    check(replay("flashinfer", "0.6.1", rows, given="probabilities", **facts, **limits), recorded, 0, exact=True)
    check(replay("flashinfer", "0.6.1", rows, given="logits", **facts, **limits), recorded, 2 / 64)


JOINT = {"top_k": 50, "top_p": 0.9}
CALLS = {
    "from_probs": ({}, ["A.from_probs"]),
    "top_k_top_p": (JOINT, ["B.probs_joint", "B.logits_joint"]),
    "top_k": ({"top_k": 50}, ["B.topk_only"]),
    "top_p": ({"top_p": 0.9}, ["B.probs_topkfirst", "B.logits_topkfirst", "B.probs_topkfirst_tensors"]),
}
"""Call -> its limits and the recordings that it explains."""


@pytest.mark.parametrize("call", CALLS)
def test_flashinfer_on_rows_softmaxed_elsewhere(zoo: Zoo, call: str) -> None:
    limits, names = CALLS[call]
    rows = softmax(zoo.logits if call == "from_probs" else zoo.logits / np.float32(0.8))
    if call == "top_p":  # top_k_first: the caller renormalises over the k largest, then samples by top_p
        edge = np.partition(rows, -50, axis=1)[:, -50][:, None]
        kept = np.where(rows < edge, np.float32(0), rows)
        rows = (kept / kept.sum(axis=1, keepdims=True, dtype=np.float64)).astype(np.float32)
    facts = {"given": "logits", "call": call, **H200, **limits}
    for offset in (0, 4, 1):
        made = replay("flashinfer", "0.6.1", rows, seed=1234, offset=offset, source="explicit", **facts)
        for name in names:
            check(made, zoo.gpu[f"flashinfer.0.6.1.{name}.seed1234.off{offset}.tokens"], 1 / 64)
    offset = 0
    for step in range(2):
        made = replay("flashinfer", "0.6.1", rows, offset=offset, **FROM_GENERATOR, **facts)
        for name in names:
            check(made, zoo.gpu[f"flashinfer.0.6.1.{name}.generator5.tokens"][step], 1 / 64)
        offset = int(zoo.gpu[f"flashinfer.0.6.1.{names[0]}.generator5.offset_after"][step])


def test_flashinfer_one_row_at_a_time(zoo: Zoo) -> None:
    rows = softmax(zoo.logits)
    facts = {"given": "logits", "call": "from_probs", "source": "explicit", **H200}
    for row, recorded in enumerate(zoo.gpu["flashinfer.0.6.1.A.from_probs.batch1_scalar.tokens"].tolist()):
        seed, offset = int(zoo.seeds[row]), 4 * int(zoo.positions[row])
        made = replay("flashinfer", "0.6.1", rows[row : row + 1], seed=seed, offset=offset, **facts)
        assert recorded in made.possible[0]


def test_flashinfer_from_logits(zoo: Zoo) -> None:
    prefix = "flashinfer.0.6.1.A.from_logits."
    for offset in (0, 4, 1):
        made = replay("flashinfer_logits", "0.6.1", zoo.logits, seed=1234, offset=offset, source="explicit")
        check(made, zoo.gpu[f"{prefix}seed1234.off{offset}.tokens"])
    for step, offset in enumerate((0, int(zoo.gpu[prefix + "generator5.offset_after"][0]))):
        made = replay("flashinfer_logits", "0.6.1", zoo.logits, offset=offset, **FROM_GENERATOR)
        check(made, zoo.gpu[prefix + "generator5.tokens"][step])
    logarithms = np.log(zoo.flashinfer["probs"])
    made = replay("flashinfer_logits", "0.6.1", logarithms, seed=1234, offset=0, source="explicit")
    check(made, zoo.flashinfer["sampling_from_logits.seed1234.off0"])


def test_flashinfers_offset_before_or_after_the_advance_is_a_version(zoo: Zoo) -> None:
    rows = zoo.flashinfer["probs"]
    facts = {"given": "probabilities", "call": "top_p", "top_p": 0.9, **H200}
    old = replay("flashinfer", "0.6.1", rows, seed=5, offset=0, source="generator", **facts).tokens
    new = replay("flashinfer", "0.7.4", rows, seed=5, offset=0, source="generator", **facts).tokens
    moved = replay("flashinfer", "0.7.4", rows, seed=5, offset=32 * 64, source="generator", **facts).tokens
    assert (old == new).sum() < 40
    assert np.array_equal(old, moved)
    with pytest.raises(InputError, match="one seed and one offset for all rows"):
        replay("flashinfer", "0.6.1", rows, seed=list(range(64)), offset=0, source="explicit", **facts)
    assert replay("flashinfer", "0.7.4", rows, seed=list(range(64)), offset=0, source="explicit", **facts)


@pytest.mark.parametrize(
    ("name", "chain", "parameters"),
    [
        ("A", "temperature last", {}),
        ("B", "temperature last", B),
        ("B.tempfirst", "temperature first", B),
        ("A.topk4096_sorted", "temperature last", {"top_k": 4096}),
        ("A.topk1", "temperature last", {"top_k": 1}),
        ("A.temp_ext1", "temperature last", {}),
    ],
)
def test_llama_cpp(zoo: Zoo, name: str, chain: str, parameters: dict[str, float]) -> None:
    for draw in range(3):
        made = replay("llama_cpp", "0.3.36", zoo.logits, seed=zoo.seeds, draws=draw, chain=chain, **parameters)
        check(made, zoo.cpu[f"llamacpp.0.3.36.{name}.tokens"][draw])
    kept = zoo.cpu.get(f"llamacpp.0.3.36.{name}.kept")
    assert made.kept is not None
    assert kept is None or np.array_equal(made.kept.sum(axis=1), kept)


def test_llama_cpp_in_the_other_order_of_candidates_and_after_one_survivor(zoo: Zoo) -> None:
    facts = {"seed": zoo.seeds, "chain": "temperature last"}
    for draw in range(3):
        backwards = replay("llama_cpp", "0.3.36", zoo.logits[:, ::-1], draws=draw, **facts).tokens
        assert np.array_equal(4095 - backwards, zoo.cpu["llamacpp.0.3.36.A.reversed_candidates.tokens"][draw])
    after = zoo.cpu["llamacpp.0.3.36.A.after_one_survivor.tokens"]
    check(replay("llama_cpp", "0.3.36", zoo.logits, draws=1, **facts), after)
    assert (replay("llama_cpp", "0.3.36", zoo.logits, draws=0, **facts).tokens == after).sum() < 40


@pytest.mark.parametrize("seed", [0, 1, 1234, 5489, 2147483647, 4294967294])
def test_llama_cpps_uniforms(zoo: Zoo, seed: int) -> None:
    flat = np.zeros((1, 2**20), np.float32)
    for draw, recorded in enumerate(zoo.cpu[f"llamacpp.0.3.36.flat2p20.seed{seed}"][:2].tolist()):
        made = replay("llama_cpp", "0.3.36", flat, seed=seed, draws=draw, chain="temperature last")
        assert recorded in made.possible[0]


@pytest.mark.parametrize("name", ["philox", "pcg64", "mt19937", "sfc64", "legacy"])
@pytest.mark.parametrize("config", ["A", "B"])
def test_numpy(zoo: Zoo, config: str, name: str) -> None:
    rows = softmax(zoo.logits)
    if config == "B":
        kept = np.unpackbits(zoo.cpu["hf.5.24.0.B.maskbits"], axis=1).astype(bool)
        rows = softmax(np.where(kept, zoo.logits / np.float32(0.8), np.float32(-np.inf)))
    key = "legacy_choice" if name == "legacy" else f"choice_{name}"
    recorded = np.atleast_2d(zoo.cpu[f"numpy.2.4.6.{config}.{key}.tokens"])
    for draw, tokens in enumerate(recorded):
        check(replay("numpy", "2.4.6", rows, bit_generator=name, seed=zoo.seeds, draws=draw), tokens, 0, exact=True)


def test_tensorrt_llms_generator(zoo: Zoo) -> None:
    """Its sampler was not run: the words are, from cuRAND's header."""
    flat = np.zeros((64, 2**16), np.float32)
    uniforms = zoo.cpu["trtllm_generator.curand10.4.5.xorwow.rowseed_uniforms"]
    for draw in range(3):
        made = replay("tensorrt_llm", "0.12.0", flat, seed=zoo.seeds, draws=draw)
        expected = np.ceil(uniforms[:, draw].astype(np.float64) * 2**16) - 1
        assert np.abs(made.tokens - expected).max() <= 1


CONFIGS = {
    "engine": {"top_p": 0.99},
    "narrow": {"top_p": 0.5, "top_k": 128},
    "nofilter": {},
    "k50p.9": {"top_k": 50, "top_p": 0.9},
    "k1": {"top_k": 1},
}


@pytest.mark.parametrize("config", CONFIGS)
def test_deepinfer(config: str) -> None:
    """Its rejection limit steps where the total sits, so a quarter of the rows hang on last bits: those are ambiguous,
    no certain token is wrong, and every recorded token is possible."""
    with np.load(ROOT / "harness" / "data" / "deepinfer-0.1.0" / "real.npz") as file:
        rows = slice(0, 250, 3)
        logits, seeds, positions = file["logits"][rows], file["seeds"][rows], file["positions"][rows]
        recorded = file[f"{config}.tokens"][rows]
    facts = {"seed": seeds, "position": positions, "numbering": "deepinfer"}
    made = replay("deepinfer", "0.1.0", logits, **facts, **CONFIGS[config])
    check(made, recorded, 0.35)
    if config == "k1":
        assert AMBIGUOUS not in made.certificate


def test_exact_sample_is_exact(zoo: Zoo) -> None:
    facts = {"seed": zoo.seeds, "position": zoo.positions, "numbering": "absolute"}
    made = replay(
        "exact_sample", "1", zoo.logits[:16], **{k: v[:16] if k != "numbering" else v for k, v in facts.items()}
    )
    assert set(made.certificate) == {"exact"}

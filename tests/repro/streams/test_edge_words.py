"""Which samplers give infinite noise, an improbable column, a masked one: kept here and in docs/streams.md."""

from __future__ import annotations

import numpy as np
import pytest

from repro.streams.edge_words import DRIVEN, WORDS, Edge, edges
from repro.streams.samplers import flashinfer, sglang

EDGES = edges()


def at(engine: str, version: str, word: int) -> Edge:
    (found,) = [edge for edge in EDGES if (edge.engine, edge.version, edge.word) == (engine, version, word)]
    return found


def test_every_sampler_is_driven_with_every_word() -> None:
    assert len(EDGES) == len(DRIVEN) * len(WORDS)
    assert not any(edge.outside for edge in EDGES)


def test_noise_is_finite_but_for_two() -> None:
    infinite = {(edge.engine, edge.version, edge.word) for edge in EDGES if not edge.finite}
    assert infinite == {("huggingface_cpu, vllm_v1_cpu", "torch 2.13", 0), ("vllm_v2_philox", "0.20.0", 0xFFFFFFFF)}


def test_who_can_draw_a_masked_column() -> None:
    masked = {(edge.engine, edge.version, edge.word) for edge in EDGES if edge.masked}
    assert masked == {
        ("huggingface_cpu, vllm_v1_cpu", "torch 2.13", 0),
        ("vllm_v2_philox", "0.20.0", 0xFFFFFFFF),
        ("llama_cpp", "0.3.36", 0),
    }


def test_torchs_zero_noise_makes_a_masked_token_the_argmax() -> None:
    """The same, in torch: 0 / 0 is NaN, and NaN is the largest."""
    torch = pytest.importorskip("torch")
    probability, noise = torch.tensor([0.5, 0.0, 0.5]), torch.tensor([1.0, 0.0, 1.0])
    assert int((probability / noise).argmax()) == 1


@pytest.mark.parametrize(("version", "least", "most"), [("0.6.1", 46.0, 46.1), ("0.7.4", 15.5, 15.7)])
def test_flashinfers_largest_noise_fell_with_a_version(version: str, least: float, most: float) -> None:
    assert least < at("flashinfer_logits", version, 0xFFFFFFFF).value < most
    assert flashinfer.gumbel(version, np.ones(1, np.float32))[0] == at("flashinfer_logits", version, 0xFFFFFF80).value


def test_sglangs_ends_are_clamped() -> None:
    noise = sglang.gumbel(np.asarray([0, 0xFFFFFFFF], np.uint32))
    assert np.isfinite(noise).all()
    assert noise[1] == pytest.approx(32 * np.log(2))


def test_caps_of_the_noise() -> None:
    """A token that trails by more than the cap can never win against one at the median."""
    caps = {
        (made.engine, made.version): max(edge.value for edge in EDGES if edge.engine == made.engine and edge.finite)
        for made in DRIVEN
        if made.noise
    }
    assert caps[("vllm_v1_cuda", "0.33.0")] == pytest.approx(24 * np.log(2))
    assert caps[("vllm_v2", "0.33.0")] == pytest.approx(33 * np.log(2))
    assert caps[("jax, mode low", "0.10.2")] < 16 < caps[("jax, mode high", "0.10.2")]

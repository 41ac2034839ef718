"""vLLM, SGLang, Hugging Face and JAX: recorded tokens of A (no filter) and B (top_k 50, top_p 0.9, temperature 0.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from deepinfer.errors import InputError
from repro.streams.samplers import replay
from repro.streams.samplers.vllm_v1_rejection import verify
from repro.streams.torch_cpu import TorchCpu
from repro.streams.torch_cuda import TorchCuda

from .helpers import GPU, A, B, check

if TYPE_CHECKING:
    from .conftest import Zoo

CONFIGS = {"A": A, "B": B}
CASES = pytest.mark.parametrize("config", list(CONFIGS))


@CASES
@pytest.mark.parametrize("step", [0, 1, 2])
def test_vllm_v1_seeded(zoo: Zoo, config: str, step: int) -> None:
    name = "A" if config == "A" else "B.triton"
    on_gpu = {"seed": zoo.seeds, "offset": 4 * step, "generator": "request", **GPU}
    on_cpu = {"seed": zoo.seeds, "start": 2 * 4096 * step, "generator": "request"}
    gpu = replay("vllm_v1_cuda", "0.33.0", zoo.logits, **on_gpu, **CONFIGS[config])
    cpu = replay("vllm_v1_cpu", "0.33.0", zoo.logits, **on_cpu, **CONFIGS[config])
    check(gpu, zoo.gpu[f"vllm_v1_cuda.0.33.0.{name}.tokens"][step])
    check(cpu, zoo.cpu[f"vllm_v1_cpu.0.33.0.{name}.tokens"][step])
    assert gpu.kept is not None
    assert np.array_equal(gpu.kept.sum(axis=1), zoo.gpu[f"vllm_v1_cuda.0.33.0.{name}.kept"])


def test_vllm_v1_unseeded(zoo: Zoo) -> None:
    gpu = replay("vllm_v1_cuda", "0.33.0", zoo.logits, seed=1234, offset=0, generator="batch", **GPU)
    cpu = replay("vllm_v1_cpu", "0.33.0", zoo.logits, seed=1234, start=0, generator="batch")
    check(gpu, zoo.gpu["vllm_v1_cuda.0.33.0.A.unseeded1234.tokens"])
    check(cpu, zoo.cpu["vllm_v1_cpu.0.33.0.A.unseeded1234.tokens"])


@CASES
@pytest.mark.parametrize(("role", "name"), [("target", ""), ("draft", ".drafting")])
def test_vllm_v2(zoo: Zoo, config: str, role: str, name: str) -> None:
    facts = {"seed": zoo.seeds, "position": zoo.positions, "role": role, "precision": "float32"}
    made = replay("vllm_v2", "0.33.0", zoo.logits, **facts, **CONFIGS[config])
    check(made, zoo.gpu[f"vllm_v2_cuda.0.33.0.{config}{name}.tokens"])
    check(made, zoo.cpu[f"vllm_v2_interp.0.33.0.{config}{name}.tokens"])
    assert made.kept is not None
    assert np.array_equal(made.kept.sum(axis=1), zoo.gpu[f"vllm_v2_cuda.0.33.0.{config}.kept"])


def test_vllm_v2_negative_seeds(zoo: Zoo) -> None:
    seeds = [-seed - 2**40 for seed in zoo.seeds.tolist()]
    facts = {"seed": seeds, "position": zoo.positions, "role": "target", "precision": "float32"}
    check(replay("vllm_v2", "0.33.0", zoo.logits, **facts), zoo.gpu["vllm_v2_cuda.0.33.0.A.negseed.tokens"])


def test_vllm_v2_by_version(zoo: Zoo) -> None:
    """Kernels of each version, `where.version.role` and `.fp64` in double precision, on an H200 (Triton 3.6) and some
    in Triton's interpreter."""
    assert len(zoo.versions) == 38
    for name in {key.partition(".")[2] for key in zoo.versions}:
        version, _, rest = name.partition(".target") if ".target" in name else name.partition(".draft")
        role, precision = "target" if ".target" in name else "draft", "float64" if rest else "float32"
        engine = "vllm_v2" if version >= "0.31.0" else "vllm_v2_philox"
        facts = {"seed": zoo.seeds, "position": zoo.positions, "role": role, "precision": precision}
        made = replay(engine, version, zoo.logits, **facts)
        for where in ("cuda", "interp"):
            if f"{where}.{name}" in zoo.versions:
                check(made, zoo.versions[f"{where}.{name}"])


def test_versions_draw_other_tokens(zoo: Zoo) -> None:
    facts = {"seed": zoo.seeds, "position": zoo.positions, "role": "target", "precision": "float32"}
    new = replay("vllm_v2", "0.33.0", zoo.logits, **facts).tokens
    for version in ("0.20.0", "0.22.0", "0.25.0"):
        old = replay("vllm_v2_philox", version, zoo.logits, **facts).tokens
        assert 10 < (old == new).sum() < 40


@pytest.mark.parametrize(
    ("path", "config", "name"), [("id", "A", ""), ("rank", "A", ".ranked"), ("rank", "B", ".ranked")]
)
def test_sglang_seeded(zoo: Zoo, path: str, config: str, name: str) -> None:
    facts = {"seed": zoo.seeds, "position": zoo.positions, "path": path}
    made = replay("sglang", "0.5.23", zoo.logits, **facts, **CONFIGS[config])
    check(made, zoo.gpu[f"sglang_cuda.0.5.23.{config}.eager{name}.tokens"])
    check(made, zoo.gpu[f"sglang_cuda.0.5.23.{config}.compiled{name}.tokens"])
    check(made, zoo.cpu[f"sglang_interp.0.5.23.{config}.eager{name}.tokens"])
    if path == "id":
        check(made, zoo.gpu["sglang_cuda.0.5.23.A.eager.logsoftmax.tokens"])
        check(made, zoo.cpu["sglang_torch_compile_cpu.0.5.23.A.compiled.tokens"])


@CASES
def test_sglang_keeps_what_its_float_sums_leave(zoo: Zoo, config: str) -> None:
    """B: the recorded sizes. A: top_p 1 cuts where a float32 running sum passes 1, so sizes follow the order of the sum
    (CPU and GPU differ); each lies between the sure and the possible columns."""
    facts = {"seed": zoo.seeds, "position": zoo.positions, "path": "rank"}
    made = replay("sglang", "0.5.23", zoo.logits, **facts, **CONFIGS[config])
    assert made.kept is not None
    assert made.doubtful is not None
    least, most = (made.kept & ~made.doubtful).sum(axis=1), (made.kept | made.doubtful).sum(axis=1)
    for arrays, where in ((zoo.gpu, "cuda"), (zoo.cpu, "interp")):
        recorded = arrays[f"sglang_{where}.0.5.23.{config}.eager.kept"]
        assert ((least <= recorded) & (recorded <= most)).all()
        if config == "B":
            assert np.array_equal(made.kept.sum(axis=1), recorded)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_sglang_unseeded(zoo: Zoo, device: str) -> None:
    arrays, where = (zoo.gpu, "cuda") if device == "cuda" else (zoo.cpu, "interp")
    facts = {"seed": 1234, "offset": 0, "start": 0, "device": device, **GPU}
    by_id = replay("sglang_race", "0.5.23", zoo.logits, path="id", **facts)
    for option in ("gumbelopt", "multinomial"):
        check(by_id, arrays[f"sglang_{where}.0.5.23.A.unseeded1234.{option}.tokens"])
    check(
        replay("sglang_race", "0.5.23", zoo.logits, path="rank", **facts, **B),
        arrays[f"sglang_{where}.0.5.23.B.unseeded1234.tokens"],
    )


@CASES
def test_hugging_face(zoo: Zoo, config: str) -> None:
    prefix = f"hf.5.24.0.{config}."
    for draw in range(3):
        rows = [
            replay(
                "huggingface_cpu", "5.24.0", zoo.logits[i : i + 1], seed=seed, start=8192 * draw, **CONFIGS[config]
            ).tokens[0]
            for i, seed in enumerate(zoo.seeds.tolist())
        ]
        assert np.array_equal(rows, zoo.cpu[prefix + "rowseed.tokens"][draw])
    for seed in (0, 1234):
        for draw in range(2):
            facts = {"seed": seed, "start": 2 * 64 * 4096 * draw}
            made = replay("huggingface_cpu", "5.24.0", zoo.logits, **facts, **CONFIGS[config])
            check(made, zoo.cpu[f"{prefix}batch64.seed{seed}.tokens"][draw])
            assert made.kept is not None
            assert np.array_equal(made.kept.sum(axis=1), zoo.cpu[prefix + "kept"])
            assert np.array_equal(np.packbits(made.kept, axis=1), zoo.cpu[prefix + "maskbits"])


def test_hugging_face_in_a_smaller_batch(zoo: Zoo) -> None:
    made = replay("huggingface_cpu", "5.24.0", zoo.logits[:32], seed=1234, start=0)
    check(made, zoo.cpu["hf.5.24.0.A.batch32.seed1234.tokens"])


def test_vllms_filters_keep_the_recorded_columns(zoo: Zoo) -> None:
    facts = {"seed": zoo.seeds, "position": zoo.positions, "role": "target", "precision": "float32"}
    made = replay("vllm_v2", "0.33.0", zoo.logits, **facts, **B)
    assert made.kept is not None
    for kernel in ("pytorch", "triton_cpublocks", "triton_gpublocks"):
        assert np.array_equal(np.packbits(made.kept, axis=1), zoo.cpu[f"vllm_filter.0.33.0.B.{kernel}.maskbits"])


def test_ties_at_the_kth_value(zoo: Zoo) -> None:
    """[1, 2, 2, 2, 3] with k = 3: PyTorch keeps four columns, vLLM's kernel the first two of the ties."""
    row = np.asarray([[1, 2, 2, 2, 3]], np.float32)
    facts = {"seed": 0, "position": 0, "role": "target", "precision": "float32"}
    vllm = replay("vllm_v2", "0.33.0", row, **facts, top_k=3).kept
    torch = replay("huggingface_cpu", "5.24.0", row, seed=0, start=0, top_k=3).kept
    assert vllm is not None
    assert torch is not None
    assert np.flatnonzero(vllm[0]).tolist() == zoo.cpu["vllm_filter.0.33.0.ties.triton"].tolist()
    assert np.flatnonzero(torch[0]).tolist() == zoo.cpu["vllm_filter.0.33.0.ties.pytorch"].tolist()


@CASES
def test_jax(zoo: Zoo, config: str) -> None:
    kept = np.unpackbits(zoo.cpu["hf.5.24.0.B.maskbits"], axis=1).astype(bool)
    cut = np.where(kept, zoo.logits / np.float32(0.8), np.float32(-np.inf))
    rows = zoo.logits if config == "A" else cut
    facts = {"impl": "threefry2x32", "x64": False}
    by_row = {"rowkey": (True, "low"), "rowkey_highmode": (True, "high"), "rowkey.part0": (False, "low")}
    for name, (partitionable, mode) in by_row.items():
        recorded = zoo.cpu.get(f"jax.0.10.2.{config}.{name}.tokens")
        if recorded is not None:
            made = replay(
                "jax", "0.10.2", rows, seed=zoo.seeds, keying="row", partitionable=partitionable, mode=mode, **facts
            )
            check(made, recorded)
    batch = replay("jax", "0.10.2", rows, seed=1234, keying="batch", partitionable=True, mode="low", **facts)
    check(batch, zoo.cpu[f"jax.0.10.2.{config}.batch64.seed1234.tokens"])


def test_what_a_sampler_would_not_do_is_refused(zoo: Zoo) -> None:
    facts = {"seed": zoo.seeds, "position": zoo.positions}
    with pytest.raises(InputError, match="a filter on path id"):
        replay("sglang", "0.5.23", zoo.logits, path="id", top_k=5, **facts)
    with pytest.raises(InputError, match=r"SGLang 0\.5\.23 asserts"):
        replay("sglang", "0.5.23", zoo.logits, path="rank", min_p=0.1, **facts)
    jax = {"impl": "threefry2x32", "x64": False, "partitionable": True, "mode": "low", "keying": "row"}
    with pytest.raises(InputError, match="JAX has no filters"):
        replay("jax", "0.10.2", zoo.logits, seed=zoo.seeds, top_p=0.5, **jax)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_vllm_v1_verifies_drafts(zoo: Zoo, device: str) -> None:
    """16 requests of three one-hot drafts; 4095 follows when all stay. With draft probabilities, which were not
    recorded, the uniforms alone."""
    arrays = zoo.cpu if device == "cpu" else zoo.gpu
    prefix = f"vllm_v1_{device}.0.33.0.rejection."
    for request, seed in enumerate(zoo.seeds[:16].tolist()):
        generator = TorchCpu(seed, 0) if device == "cpu" else TorchCuda(seed, 0, 132, 2048)
        rows = slice(3 * request, 3 * request + 3)
        made = verify(generator, zoo.logits[rows], arrays[prefix + "onehot.draft"][rows].tolist(), 4095)
        assert not made.close
        assert np.array_equal(made.tokens, arrays[prefix + "onehot.tokens"][request])
        for kind in ("onehot", "draftprobs"):
            assert np.array_equal(made.uniforms, arrays[f"{prefix}{kind}.uniform"][request])


def test_drafts_that_the_target_gives_no_mass_are_refused() -> None:
    logits = np.zeros((1, 8), np.float32)
    logits[0, 3] = -np.inf
    certain = np.eye(8, dtype=np.float32)[[3]]
    for draft_probs in (None, certain):
        made = verify(TorchCpu(1, 0), logits, [3], 7, draft_probs)
        assert made.tokens[0] != 3
        assert made.tokens[1] == -1

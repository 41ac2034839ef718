"""Runs of each engine as uses of counters. Lengths are a run's own; ours and hash-keyed ones cover every position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from deepinfer.rng.spec import ACCEPT, BLOCK_ROW_STRIDE, DRAFT_SEED_OFFSET, FRESH, MAX_POSITION, RESIDUAL
from repro.streams.counters.audit import Use
from repro.streams.counters.progression import Progression
from repro.streams.token_noise import DRAFT_SALT, SGLANG_DRAFT

ALL_WORDS = Progression(0, 2**64)
ONE = Progression(0)
PURPOSES = (("fresh", FRESH), ("residual", RESIDUAL), ("accept", ACCEPT))


@dataclass(frozen=True)
class Run:
    """`reuse` is what is known to be shared, and why it matters; empty where the audit must prove that nothing is."""

    engine: str
    versions: str
    scenario: str
    uses: Callable[[], Iterator[Use]]
    reuse: str
    source: str


def ours() -> Iterator[Use]:
    """Two requests, target and draft model, every position there can be, any number of words."""
    for who, seed in (("request 0", 5), ("request 1", 6)):
        for model, offset in (("target", 0), ("draft model", DRAFT_SEED_OFFSET)):
            for role, purpose in PURPOSES:
                places = Progression(purpose, MAX_POSITION["absolute"], 3)
                yield Use(who, f"{model} {role}", (seed + offset) % 2**64, ALL_WORDS, places)


def ours_with_near_seeds() -> Iterator[Use]:
    """A second request whose seed is the first one's draft seed."""
    places = Progression(0, MAX_POSITION["absolute"], 3)
    yield Use("request 0", "draft model fresh", 5 + DRAFT_SEED_OFFSET, ALL_WORDS, places)
    yield Use("request 1", "target fresh", 5 + DRAFT_SEED_OFFSET, ALL_WORDS, places)


def deepinfer_blocks(positions: int) -> Callable[[], Iterator[Use]]:
    """Upstream's numbering: row j of a verify block stands 10000019 j further."""

    def uses() -> Iterator[Use]:
        for row in range(8):
            for role, purpose in PURPOSES:
                start = 3 * row * BLOCK_ROW_STRIDE + purpose
                yield Use("request 0", f"block row {row} {role}", 5, ALL_WORDS, Progression(start, positions, 3))

    return uses


def vllm_v1_steps() -> Iterator[Use]:
    """A seeded request: a step's noise is one block of every token's subsequence; four words a step."""
    for step in range(1000):
        yield Use("request 0", f"noise of step {step}", 5, Progression(4 * step, 4), Progression(0, 151936))


def vllm_v1_rewound(advance: int) -> Callable[[], Iterator[Use]]:
    """A discarded sample, then the runner's rewind by four words, then the next sample."""

    def uses() -> Iterator[Use]:
        yield Use("request 0", "noise of a discarded sample", 5, Progression(0, advance), Progression(0, 40960))
        start = advance - 4
        yield Use("request 0", "noise of the next sample", 5, Progression(start, advance), Progression(0, 40960))

    return uses


def vllm_v1_speculative() -> Iterator[Use]:
    """Three drafts a step: their float64 uniforms, then one row of noise."""
    for step in range(100):
        yield Use("request 0", f"accept of step {step}", 5, Progression(8 * step, 4), Progression(0, 3))
        yield Use("request 0", f"replacement of step {step}", 5, Progression(8 * step + 4, 4), Progression(0, 151936))


def vllm_v2_hash() -> Iterator[Use]:
    """Target and draft noise of (position, token); positions below the salt."""
    tokens = Progression(0, 2**32)
    yield Use("request 0", "target noise", ("murmur3", 5), Progression(0, DRAFT_SALT), tokens)
    yield Use("request 0", "draft noise", ("murmur3", 5), Progression(DRAFT_SALT, DRAFT_SALT), tokens)
    yield Use("request 0", "accept", ("philox", 5), Progression(0, 4 * DRAFT_SALT, 4), ONE)


def vllm_v2_philox(salt: int) -> Callable[[], Iterator[Use]]:
    """The position's word 0 keys a position's noise, for target, draft and accept test alike."""

    def uses() -> Iterator[Use]:
        places = Progression(0, 2**20, 4)
        yield Use("request 0", "key of the target's noise", 5, places, ONE)
        yield Use("request 0", "key of the draft's noise", 5, Progression(4 * salt, 2**20, 4), ONE)
        yield Use("request 0", "accept", 5, places, ONE)

    return uses


def sglang_coins() -> Iterator[Use]:
    """Target noise and draft coins: the draft's seed is salted."""
    everything = Progression(0, 2**32)
    yield Use("request 0", "target noise", 5, everything, everything)
    yield Use("request 0", "draft coins", 5 + SGLANG_DRAFT, everything, everything)


def sglang_default_seeds() -> Iterator[Use]:
    """Two unseeded requests under deterministic inference at the same position."""
    for who in ("request 0", "request 1"):
        yield Use(who, "target noise at position 9", 42, Progression(9), Progression(0, 151936))


def flashinfer_generator(rounds: int) -> Callable[[], Iterator[Use]]:
    """Top-p of 64 rows: 32 words a row are reserved for each call."""

    def uses() -> Iterator[Use]:
        for call in range(20):
            start = Progression(32 * 64 * call, rounds)
            yield Use("batch", f"rounds of call {call}", 5, start, Progression(0, 64))

    return uses


def flashinfer_large_batch() -> Iterator[Use]:
    """Sampling from logits: row times columns is a 32-bit product."""
    columns = 151936
    for row in (0, -(-(2**32) // columns)):
        start = row * columns % 2**32
        yield Use(f"row {row}", "noise", 5, Progression(0, 4), Progression(start, columns // 4, 4))


def tensorrt_windows() -> Iterator[Use]:
    """One word a step reserved, several rounds read: as long as a round is rejected, the next step's word is read."""
    for step in range(8):
        yield Use("slot 0", f"rounds of step {step}", 5, Progression(step, 3), ONE)


def torch_stateless_split() -> Iterator[Use]:
    """split(key, 4) and uniform(key, 16): both begin at the key's own block."""
    yield Use("key", "split into 4", 5, Progression(0, 16), ONE)
    yield Use("key", "16 uniforms", 5, Progression(0, 16), ONE)


def jax_key_used_twice() -> Iterator[Use]:
    """A key that is split and drawn from: the counters are the indices of both."""
    yield Use("key", "split into 4", 5, Progression(0, 4), ONE)
    yield Use("key", "16 random words", 5, Progression(0, 16), ONE)


def curand_host_types() -> Iterator[Use]:
    """4 doubles from output 0 read blocks 0 and 1 of subsequence 0; outputs 262144 to 262147 are its block 1 again."""
    yield Use("generator", "4 doubles at output 0", 5, Progression(0, 8), ONE)
    yield Use("generator", "4 words at output 262144", 5, Progression(4, 4), ONE)


def torch_cpu_batch() -> Iterator[Use]:
    """A batch of 64 rows: words in order, two an element."""
    for step in range(10):
        words = Progression(2 * 64 * 4096 * step, 2 * 64 * 4096)
        yield Use("batch", f"noise of step {step}", 5, words, ONE)


def bernoulli_wraps() -> Iterator[Use]:
    """torch.bernoulli(tensor) on CUDA reserves 12 words and reads 4 of each thread."""
    yield Use("call 0", "bernoulli", 5, Progression(0, 4), Progression(0, 2**20))
    yield Use("call 1", "bernoulli", 5, Progression(12, 4), Progression(0, 2**20))


RUNS = (
    Run("exact_sample", "1", "two requests, target and draft model, all positions", ours, "", "docs/spec/rng.md, 4"),
    Run(
        "exact_sample",
        "1",
        "a second request seeded with the first seed + 1000000007",
        ours_with_near_seeds,
        "the draft model of one request and the target of another draw the same numbers: seeds that far apart collide",
        "docs/spec/rng.md, 4",
    ),
    Run(
        "deepinfer",
        "0.1.0",
        "verify blocks of 8, positions below 2^20",
        deepinfer_blocks(2**20),
        "",
        "docs/spec/rng.md",
    ),
    Run(
        "deepinfer",
        "0.1.0",
        "verify blocks of 8, positions below 2^24",
        deepinfer_blocks(2**24),
        "position 10000019 of a sequence is row 1 of the block at position 0: sequences of ten million tokens meet",
        "docs/spec/rng.md, 4",
    ),
    Run("vllm_v1_cuda", "0.33.0", "1000 steps, V 151936", vllm_v1_steps, "", "topk_topp_sampler.py"),
    Run("vllm_v1_cuda", "0.33.0", "100 speculative steps of 3", vllm_v1_speculative, "", "rejection_sampler.py"),
    Run(
        "vllm_v1_cuda",
        "0.33.0",
        "a discarded sample, advance 4",
        vllm_v1_rewound(4),
        "the next sample draws the discarded one's words again, as it should",
        "gpu_model_runner.py",
    ),
    Run(
        "vllm_v1_cuda",
        "0.33.0",
        "a discarded sample, V 262144 on a T4, advance 8",
        vllm_v1_rewound(8),
        "the rewind goes back half of it: the next sample reads one block of the discarded one, and is not the sample "
        "that would have been drawn",
        "gpu_model_runner.py",
    ),
    Run("vllm_v2", "0.31.0 to 0.33.0", "positions below 2^30", vllm_v2_hash, "", "gumbel.py"),
    Run(
        "vllm_v2_philox",
        "0.20.0 to 0.28.0",
        "drafting with noise",
        vllm_v2_philox(0),
        "draft and replacement of a position have the same noise, and the accept test reads the word that keys it",
        "gumbel.py, pull request 54282",
    ),
    Run(
        "vllm_v2_philox",
        "0.30.0",
        "drafting with noise",
        vllm_v2_philox(DRAFT_SALT),
        "the accept test still reads the word that keys the replacement's noise",
        "gumbel.py, rejection_sampler_utils.py",
    ),
    Run("sglang", "0.5.23", "target and draft, all positions", sglang_coins, "", "sampler.py"),
    Run(
        "sglang",
        "0.5.23",
        "two unseeded requests, deterministic inference",
        sglang_default_seeds,
        "every unseeded request has seed 42: equal prompts give equal tokens",
        "sampler.py",
    ),
    Run("flashinfer", "0.6.1, 0.7.4", "64 rows, 32 rounds", flashinfer_generator(32), "", "sampling.py"),
    Run(
        "flashinfer",
        "0.6.1, 0.7.4",
        "64 rows, more rounds than a batch reserves",
        flashinfer_generator(32 * 64 + 1),
        "a row of that many rounds reads the next call's words; 2048 rounds do not happen",
        "sampling.py",
    ),
    Run(
        "flashinfer_logits",
        "0.6.1, 0.7.4",
        "V 151936, batches of 28269 rows and more",
        flashinfer_large_batch,
        "row times columns wraps at 2^32: a late row repeats the first one's noise, shifted",
        "sampling.cuh",
    ),
    Run(
        "tensorrt_llm",
        "torch sampler, unverified",
        "an offset one word further a step, 3 rounds read",
        tensorrt_windows,
        "a rejected round reads the word with which the next step begins",
        "TensorRT-LLM issues 17172 and 17599",
    ),
    Run(
        "torch_stateless",
        "2.14.1, unverified",
        "a key both split and drawn from",
        torch_stateless_split,
        "split and uniform read the same blocks: subkeys are visible in the numbers",
        "pytorch pull requests 177229 and 177230",
    ),
    Run(
        "jax",
        "0.10.2",
        "a key both split and drawn from",
        jax_key_used_twice,
        "a threefry word is the XOR of the subkey's two words: keys are for one use",
        "jax/_src/random/threefry2x32.py",
    ),
    Run(
        "curand_host",
        "10.4.5",
        "doubles, then words",
        curand_host_types,
        "an offset counts outputs, doubles read two blocks: later words repeat theirs",
        "libcurand, recorded",
    ),
    Run("huggingface_cpu", "5.24.0", "10 steps of 64 rows", torch_cpu_batch, "", "recorded"),
    Run("torch_cuda", "2.11.0", "two bernoulli calls", bernoulli_wraps, "", "DistributionTemplates.h"),
)

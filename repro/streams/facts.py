"""The facts that entries share: name, meaning, where a person finds it."""

from __future__ import annotations

from dataclasses import replace

from repro.streams.entry import Fact

SEED = Fact("seed", "the generator's 64-bit seed", "the call that seeded it, or the request's `seed`")
SEED32 = replace(SEED, meaning="the generator's 32-bit seed", most=2**32 - 1)
SUBSEQUENCE = Fact("subsequence", "second argument of curand_init", "the kernel's source: often the thread or the row")
OFFSET = Fact("offset", "words already drawn", "the generator's state before the call; 0 when fresh")
TORCH_SEED = Fact("seed", "the generator's seed", "torch.cuda.initial_seed() or the manual_seed of the run")
TORCH_OFFSET = Fact(
    "offset",
    "the generator's offset before the call",
    "bytes 8 to 15 of torch.cuda.get_rng_state(), or generator.get_offset(); 0 after manual_seed",
)
SM_COUNT = Fact(
    "sm_count",
    "the GPU's multiprocessors",
    "torch.cuda.get_device_properties(0).multi_processor_count (H100 and H200 SXM 132, A100 108, L4 58, T4 40)",
    1,
    4096,
)
THREADS_PER_SM = Fact(
    "threads_per_sm",
    "threads that one multiprocessor holds",
    "torch.cuda.get_device_properties(0).max_threads_per_multi_processor (2048; L4 1536, T4 1024)",
    256,
    4096,
)
POSITION = Fact("position", "position of the sampled token in its sequence", "prompt length + tokens generated before")
SIGNED_SEED = replace(SEED, least=-(2**63), meaning="the request's 64-bit seed, signed or unsigned")

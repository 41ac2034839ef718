"""Every sampler that is known."""

from __future__ import annotations

from dataclasses import replace

from repro.streams import facts as f
from repro.streams.entry import UNVERIFIED, VERIFIED, Fact
from repro.streams.samplers.entry import Sampler
from repro.streams.samplers.result import CERTAIN, EXACT

HERE = "repro.streams.samplers."
SEEDS = replace(f.SIGNED_SEED, per_row=True, where="the request's `seed`, or the server's log")
UNSIGNED_SEEDS = replace(f.SEED, per_row=True, where="the request's `seed`, or the server's log")
SEEDS32 = replace(f.SEED32, per_row=True, where="the request's `seed`")
POSITIONS = replace(f.POSITION, per_row=True)
DRAWS = Fact(
    "draws", "tokens that this generator drew before", "0 for a request's first token, then one a token", per_row=True
)
GENERATOR = Fact(
    "generator",
    "whose generator: the request's own, or one for the batch",
    "request if the request has a seed, else batch; then the rows are the whole batch in order",
    choices=("request", "batch"),
)
STARTS = Fact(
    "start", "words the CPU generator gave before", "2 V a token of a seeded request (0 for the first)", per_row=True
)
OFFSETS = Fact(
    "offset",
    "the CUDA generator's offset before",
    "4 a token of a seeded request while V is at most 4 T (0 for the first); else generator.get_offset()",
    per_row=True,
)
BATCH_SEED = replace(f.TORCH_SEED, meaning="the global generator's seed")
PATH = Fact(
    "path",
    "id, or rank once a row of the batch filters",
    "the batch: rank if any row has top_k, top_p or min_p on",
    choices=("id", "rank"),
)
ROLE = Fact("role", "who samples", "target, or draft in speculative decoding", choices=("target", "draft"))
PRECISION = Fact(
    "precision", "dtype of the noise", "float32 unless the server sets use_fp64_gumbel", choices=("float32", "float64")
)
SOURCE = Fact(
    "source",
    "where seed and offset come from",
    "explicit if the call passes them, generator if a torch generator does",
    choices=("explicit", "generator"),
)
FLASHINFER_OFFSET = replace(
    f.TORCH_OFFSET, meaning="the offset given, or the generator's before the call", per_row=True
)

HF_RULE = "argmax(p / q), first of equals"
HF_FILTERS = "temperature, top-k (ties stay), top-p of what is left, min-p"
VLLM_FILTERS = "min-p, temperature, exactly k (first ties), top-p of what is left"

SAMPLERS = (
    Sampler(
        engine="vllm_v1_cuda",
        versions=("0.33.0",),
        run=HERE + "vllm_v1:replay_cuda",
        rows="logits",
        facts=(UNSIGNED_SEEDS, OFFSETS, GENERATOR, f.SM_COUNT, f.THREADS_PER_SM),
        noise="torch CUDA exponential_ of V floats a row, or of the batch",
        rule=HF_RULE,
        filters=VLLM_FILTERS,
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="an H200: 3 steps of 64 seeded rows for A and B, 64 unseeded rows: all tokens",
        sources=("vllm/v1/sample/ops/topk_topp_sampler.py, topk_topp_triton.py (0.33.0)",),
    ),
    Sampler(
        engine="vllm_v1_cpu",
        versions=("0.33.0",),
        run=HERE + "vllm_v1:replay_cpu",
        rows="logits",
        facts=(UNSIGNED_SEEDS, STARTS, GENERATOR),
        noise="torch CPU exponential_ of V floats a row, or of the batch",
        rule=HF_RULE,
        filters=VLLM_FILTERS,
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="random_sample on a CPU: 3 steps of 64 seeded rows for A and B, 64 unseeded rows: all tokens",
        sources=("vllm/v1/sample/ops/topk_topp_sampler.py (0.33.0), not its fused C++ sampler",),
    ),
    Sampler(
        engine="vllm_v2",
        versions=("0.31.0", "0.32.0", "0.33.0"),
        run=HERE + "vllm_v2:replay",
        rows="logits",
        facts=(SEEDS, POSITIONS, ROLE, PRECISION),
        noise="-ln(-log1p(-u)), u from MurmurHash3 of (seed, position, token)",
        rule="argmax(logit + noise), first of equals",
        filters=VLLM_FILTERS,
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="an H200 and Triton's interpreter: A, B, drafts, negative seeds, float64, each version: all tokens",
        sources=("vllm/v1/worker/gpu/sample/gumbel.py, min_p.py (0.31.0 to 0.33.0)",),
    ),
    Sampler(
        engine="vllm_v2_philox",
        versions=("0.20.0", "0.22.0", "0.25.0", "0.28.0", "0.30.0"),
        run=HERE + "vllm_v2:replay_philox",
        rows="logits",
        facts=(SEEDS, POSITIONS, ROLE, PRECISION),
        noise="tl.rand keyed by a Philox word of the position; float64 in 0.20, log1p from 0.25, salt from 0.30",
        rule="argmax(logit + noise), first of equals",
        filters=VLLM_FILTERS,
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="each version's kernel on an H200, float32 and float64, target and draft: 64 tokens each",
        sources=("vllm/v1/worker/gpu/sample/gumbel.py of each version",),
    ),
    Sampler(
        engine="sglang",
        versions=("0.5.23",),
        run=HERE + "sglang:replay",
        rows="logits",
        facts=(SEEDS, POSITIONS, PATH),
        noise="-ln(-ln x) in float64, x = h / (2^32 - 1), h from MurmurHash3 of (seed, position, column)",
        rule="argmax(log p + noise), first of equals",
        filters="top-k by rank, top-p as a share of the whole row's mass (kept while the mass before is <= top_p)",
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="an H200 (eager, compiled) and a CPU: A by id and by rank, B by rank: all tokens",
        sources=("sglang/srt/layers/sampler.py (0.5.23)",),
    ),
    Sampler(
        engine="sglang_race",
        versions=("0.5.23",),
        run=HERE + "sglang:replay_race",
        rows="logits",
        facts=(
            BATCH_SEED,
            Fact("device", "where it runs", "the server", choices=("cpu", "cuda")),
            replace(f.TORCH_OFFSET, meaning="the generator's offset (cuda)"),
            Fact("start", "words drawn before (cpu)", "0 after manual_seed"),
            f.SM_COUNT,
            f.THREADS_PER_SM,
            PATH,
        ),
        noise="torch exponential_ over the whole batch; by rank on path rank",
        rule=HF_RULE,
        filters="as sglang, min-p as well",
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="unseeded batches of an H200 and of a CPU, A by id, B by rank: all tokens",
        sources=("sglang/srt/layers/sampler.py (0.5.23)",),
    ),
    Sampler(
        engine="flashinfer",
        versions=("0.6.1", "0.7.4"),
        run=HERE + "flashinfer:replay_probabilities",
        rows="probabilities",
        facts=(
            Fact(
                "call",
                "which function",
                "the engine's sampler: top_k_top_p is the joint one; top_k_first is top_p on renormalised rows",
                choices=("from_probs", "top_k", "top_p", "top_k_top_p", "min_p"),
            ),
            UNSIGNED_SEEDS,
            FLASHINFER_OFFSET,
            SOURCE,
            Fact(
                "given",
                "what is known: the very probabilities, or the logits they came from",
                "probabilities if they were recorded; logits if you made them by a softmax of your own",
                choices=("probabilities", "logits"),
            ),
            Fact("capability", "the GPU's major compute capability", "torch.cuda.get_device_capability()[0]", 7, 12),
        ),
        noise="one cuRAND uniform a round: curand_init(seed, row of the batch, offset)",
        rule="first column whose running sum exceeds u; redraw until no pivot is left",
        filters="top-k and top-p by rejection, every tie of the last value stays; min-p beforehand",
        certificate=EXACT,
        status=VERIFIED,
        evidence="0.6.1 on an H200: 5 calls on given rows, 6 on softmaxed ones, offsets and generators: all tokens",
        sources=("flashinfer/sampling.py, include/flashinfer/sampling.cuh (0.6.1, 0.7.4)",),
    ),
    Sampler(
        engine="flashinfer_logits",
        versions=("0.6.1", "0.7.4"),
        run=HERE + "flashinfer:replay_logits",
        rows="logits",
        facts=(UNSIGNED_SEEDS, FLASHINFER_OFFSET, SOURCE),
        noise="-ln 2 log2(-log2 u), subsequence row V + 4 (t div 4), word t mod 4 (V a multiple of 4)",
        rule="argmax(logit + noise), last of equals",
        filters="none",
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="0.6.1 on an H200: 64 rows at 3 offsets, a generator, V 4096 and 5000: all tokens",
        sources=("include/flashinfer/sampling.cuh (0.6.1, 0.7.4)",),
    ),
    Sampler(
        engine="huggingface_cpu",
        versions=("5.24.0",),
        run=HERE + "huggingface:replay_cpu",
        rows="logits",
        facts=(BATCH_SEED, replace(STARTS, per_row=False, where="2 B V a step of the batch; 0 after manual_seed")),
        noise="torch CPU exponential_ over the whole batch",
        rule=HF_RULE,
        filters=HF_FILTERS,
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="rows alone (3 draws of 64) and batches of 64 and 32, A and B: all tokens and masks",
        sources=("transformers/generation/logits_process.py (5.24.0), torch.multinomial (2.13)",),
    ),
    Sampler(
        engine="huggingface_cuda",
        versions=("5.24.0",),
        run=HERE + "huggingface:replay_cuda",
        rows="logits",
        facts=(BATCH_SEED, f.TORCH_OFFSET, f.SM_COUNT, f.THREADS_PER_SM),
        noise="torch CUDA exponential_ over the whole batch",
        rule=HF_RULE,
        filters=HF_FILTERS,
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="torch.multinomial on an H200, 64 rows, 2 seeds: all tokens; filters on a CPU",
        sources=("transformers/generation/logits_process.py (5.24.0), torch.multinomial (2.11)",),
    ),
    Sampler(
        engine="llama_cpp",
        versions=("0.3.36",),
        run=HERE + "llama_cpp:replay",
        rows="logits",
        facts=(
            SEEDS32,
            DRAWS,
            Fact(
                "chain",
                "where the temperature stands in the chain",
                "the sampler chain; llama.cpp's default is last",
                choices=("temperature last", "temperature first"),
            ),
        ),
        noise="one 64-bit uniform of MT19937 a token, also with one survivor",
        rule="first candidate whose running sum >= u times the sum, in candidate order",
        filters="top_k (sorts), top_p (sorts; until the mass reaches p), min_p, temperature",
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="llama-cpp-python 0.3.36: A, B in both orders, sorted, one survivor: 192 tokens each",
        sources=("src/llama-sampling.cpp (llama-cpp-python 0.3.36)",),
    ),
    Sampler(
        engine="numpy",
        versions=("2.3.5", "2.4.6"),
        run=HERE + "numpy_choice:replay",
        rows="probabilities",
        facts=(
            Fact(
                "bit_generator",
                "which generator",
                "the script; legacy is numpy.random.seed and RandomState",
                choices=("philox", "pcg64", "mt19937", "sfc64", "legacy"),
            ),
            UNSIGNED_SEEDS,
            DRAWS,
        ),
        noise="one 53-bit uniform a choice",
        rule="first column whose running sum exceeds u",
        filters="none",
        certificate=EXACT,
        status=VERIFIED,
        evidence="4 bit generators and RandomState, A and B: 192 and 64 tokens each",
        sources=("numpy/random/_generator.pyx, mtrand.pyx",),
    ),
    Sampler(
        engine="jax",
        versions=("0.10.2",),
        run=HERE + "jax_categorical:replay",
        rows="logits",
        facts=(
            Fact("impl", "PRNG implementation", "jax.random.key_impl(key)", choices=("threefry2x32",)),
            UNSIGNED_SEEDS,
            Fact("partitionable", "jax_threefry_partitionable", "jax.config (True since 0.5)", choices=(True, False)),
            Fact("x64", "jax_enable_x64", "jax.config (False unless set)", choices=(True, False)),
            Fact("mode", "mode of categorical", "the call; low by default", choices=("low", "high")),
            Fact("keying", "a key for each row, or one for the batch", "the call", choices=("row", "batch")),
        ),
        noise="-ln(-ln u) of 23 bits, or of two draws in mode high",
        rule="argmax(logit + noise), first of equals",
        filters="the caller's",
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="A and B by row, by batch, in mode high, on the old path: all tokens",
        sources=("jax/_src/random/core.py (0.10.2)",),
    ),
    Sampler(
        engine="tensorrt_llm",
        versions=("0.12.0",),
        run=HERE + "tensorrt_llm:replay",
        rows="logits",
        facts=(UNSIGNED_SEEDS, DRAWS),
        noise="one XORWOW uniform a token: curand_init(seed, 0, 0) of the slot",
        rule="first rank whose running sum >= u top_p times the sum",
        filters="top-k by rank; top-p clips the last token of the nucleus",
        certificate=CERTAIN,
        status=UNVERIFIED,
        evidence="the generator's words alone (cuRAND's header)",
        sources=("cpp/tensorrt_llm/kernels/samplingTopKKernels.cu, samplingTopPKernels.cu (2024)",),
    ),
    Sampler(
        engine="deepinfer",
        versions=("0.1.0",),
        run=HERE + "own:replay_deepinfer",
        rows="logits",
        facts=(
            UNSIGNED_SEEDS,
            POSITIONS,
            Fact("numbering", "how positions become subsequences", "the engine", choices=("deepinfer", "absolute")),
        ),
        noise="Philox words of (seed, 3 position) until one is below the limit",
        rule="the column whose interval of the integer running sum holds word mod total",
        filters="top-k and top-p joint, a threshold and the first ties",
        certificate=CERTAIN,
        status=VERIFIED,
        evidence="DeepInfer 0.1.0 on an H200, 250 rows of 4096 columns, 5 configurations: see docs/spec/sampling.md",
        sources=("docs/spec/sampling.md",),
    ),
    Sampler(
        engine="exact_sample",
        versions=("1",),
        run=HERE + "own:replay_exact",
        rows="logits",
        facts=(
            UNSIGNED_SEEDS,
            POSITIONS,
            Fact("numbering", "how positions become subsequences", "absolute unless chosen", choices=("absolute",)),
        ),
        noise="two Philox words of (seed, 3 position)",
        rule="the column whose interval of the integer running sum holds mulhi(bits, total)",
        filters="top-k and top-p joint, exactly k, in integers",
        certificate=EXACT,
        status=VERIFIED,
        evidence="integers: the same token on every backend by its tests",
        sources=("docs/spec/sampling.md, D",),
    ),
)

"""Every stream that is known, with what it needs, how it numbers its words and how that was checked."""

from __future__ import annotations

from dataclasses import replace

from repro.streams import facts as f
from repro.streams.entry import UNVERIFIED, VERIFIED, Entry, Fact

NOTHING = "nothing"
CURAND_MAP = "w 2^-32 + 2^-33, in (0, 1], 1.0 for the top 128 words"
CURAND_HEADER = "curand_kernel.h, curand_uniform.h, curand_normal.h (cuRAND 10.4.5)"

CURAND_DEVICE = Entry(
    engine="curand_device",
    versions=("10.4.5",),
    make="repro.streams.curand_device:CurandDevice",
    facts=(
        Fact(
            "generator",
            "which cuRAND state",
            "the kernel's source; curandState_t is xorwow",
            choices=("philox4x32", "xorwow", "mrg32k3a"),
        ),
        f.SEED,
        f.SUBSEQUENCE,
        f.OFFSET,
    ),
    key="seed (XORWOW and MRG32k3a: mixed into the state)",
    counter="(offset div 4, subsequence) of Philox; 2^67 words a subsequence of XORWOW, 2^76 of MRG32k3a",
    offset_unit="word",
    float_map=CURAND_MAP + "; MRG32k3a: value times 2.3283e-10, in (0, 1)",
    batch=NOTHING,
    gpu="last bits of normals (hardware sine, cosine, logarithm)",
    status=VERIFIED,
    evidence="480 Philox cases of an H200, 24 cases of each generator from NVIDIA's header: words and uniforms exact",
    sources=(CURAND_HEADER,),
)

CURAND_HOST = Entry(
    engine="curand_host",
    versions=("10.4.5",),
    make="repro.streams.curand_host:CurandHost",
    facts=(
        Fact(
            "generator",
            "curandRngType",
            "the curandCreateGenerator call",
            choices=("philox4x32", "xorwow", "mrg32k3a", "mtgp32", "mt19937"),
        ),
        replace(f.SEED, where="curandSetPseudoRandomGeneratorSeed; 0 by default"),
        replace(f.OFFSET, meaning="outputs already drawn", where="curandSetGeneratorOffset plus the outputs since"),
    ),
    key="seed",
    counter="output n is of subsequence (n div 4) mod 65536 (Philox), n mod 4096 (XORWOW), n mod 81920 (MRG32k3a)",
    offset_unit="output, of whatever type",
    float_map=CURAND_MAP,
    batch="the order of outputs is absolute: calls join without a seam",
    gpu="nothing in orderings DEFAULT, BEST and LEGACY; DYNAMIC follows the GPU",
    status=VERIFIED,
    evidence="an H200 and libcurand's host generator, outputs to 569344; MTGP32 and MT19937 are asked of libcurand",
    sources=(CURAND_HEADER, "libcurand.so.10 (cuRAND 10.4.5)"),
)

TORCH_CUDA = Entry(
    engine="torch_cuda",
    versions=("2.11.0", "2.13.0", "2.14.1"),
    make="repro.streams.torch_cuda:TorchCuda",
    facts=(f.TORCH_SEED, f.TORCH_OFFSET, f.SM_COUNT, f.THREADS_PER_SM),
    key="seed",
    counter="(offset div 4 + call, thread); element i: thread i mod T, value (i div T) mod U of call i div (T U)",
    offset_unit="word, in multiples of 4; a call advances it by 4 a turn of the grid",
    float_map="cuRAND's, then rounded to the dtype, then 1.0 becomes 0.0",
    batch="a larger tensor moves elements once it has more than T = 256 min(ceil(n / 256), SMs floor(threads / 256))",
    gpu="every element past T; last bits of normals, exponentials",
    status=VERIFIED,
    evidence="12 operations on an H200 to 1081345 elements, torch 2.11: words, uniforms, integers, offsets exact",
    sources=("ATen/native/cuda/DistributionTemplates.h (2.13, 2.14.1), Dropout.cu, MultinomialKernel.cu, Randperm.cu",),
)

TORCH_CPU = Entry(
    engine="torch_cpu",
    versions=("2.13.0",),
    make="repro.streams.torch_cpu:TorchCpu",
    facts=(
        replace(f.TORCH_SEED, where="torch.initial_seed() or manual_seed of the run; counts modulo 2^32"),
        Fact("start", "words drawn since manual_seed", "0 after manual_seed; else the sizes of the calls since"),
    ),
    key="MT19937 seeded with seed mod 2^32",
    counter="words in order, element by element",
    offset_unit="word",
    float_map="(w mod 2^24) 2^-24 in [0, 1); float64: two words, high first, lower 53 bits",
    batch="an element's place in the tensor; never what follows it. randn changes its rule at 16 elements",
    gpu="no GPU; last bits of randn with the CPU's vector unit",
    status=VERIFIED,
    evidence="4 seeds, 8 sizes: rand (4 dtypes), exponential_, randint, bernoulli_, randperm exact; randn in 2^-19",
    sources=("ATen/core/DistributionsHelper.h, ATen/native/cpu/DistributionTemplates.h (2.13)",),
)

TRITON = Entry(
    engine="triton",
    versions=("3.6.0", "3.8.0"),
    make="repro.streams.triton:Triton",
    facts=(
        replace(f.SEED, where="the kernel's argument"),
        replace(f.OFFSET, meaning="first offset of tl.rand(seed, offset)", where="the kernel's source"),
        Fact("offset_bits", "width of the offset's type", "the kernel: tl.arange is 32", choices=(32, 64)),
    ),
    key="seed",
    counter="(offset, 0): one block an offset, word 0 is used",
    offset_unit="block of four words",
    float_map="int32, negative ones complemented, times 4.6566e-10, in [0, 1)",
    batch=NOTHING,
    gpu="last bits of tl.randn",
    status=VERIFIED,
    evidence="an H200, Triton 3.6: 3 seeds, 4 offsets: randint, rand, randint4x exact, randn within 2^-19",
    sources=("triton/language/random.py",),
)

NUMPY = Entry(
    engine="numpy",
    versions=("2.3.5", "2.4.6"),
    make="repro.streams.numpy_bits:NumpyBits",
    facts=(
        Fact(
            "bit_generator",
            "which bit generator",
            "the script; default_rng is pcg64",
            choices=("philox", "pcg64", "mt19937", "sfc64"),
        ),
        replace(f.SEED, where="the script; it goes through SeedSequence"),
    ),
    key="SeedSequence(seed); Philox: 4x64",
    counter="Philox: 256 bits, incremented before use, so the first block is 1",
    offset_unit="block",
    float_map="float64: (w >> 11) 2^-53; float32: (h >> 8) 2^-24, lower half first",
    batch="nothing before an element's own draws",
    gpu="no GPU",
    status=VERIFIED,
    evidence="4 bit generators, 3 seeds of NumPy 2.4.6 against the installed NumPy: all equal",
    sources=("numpy.random",),
)

JAX = Entry(
    engine="jax",
    versions=("0.10.2",),
    make="repro.streams.jax:Jax",
    facts=(
        Fact(
            "impl",
            "PRNG implementation",
            "jax.random.key_impl(key), or jax_default_prng_impl",
            choices=("threefry2x32", "rbg", "unsafe_rbg", "philox4x32", "philox2x32"),
        ),
        f.SEED,
        Fact(
            "partitionable",
            "jax_threefry_partitionable",
            "jax.config (True since 0.5)",
            choices=(True, False),
        ),
        Fact("x64", "jax_enable_x64", "jax.config (False unless set)", choices=(True, False)),
    ),
    key="the seed's halves (upper one 0 without x64); Philox: a hash of them; rbg: them twice",
    counter="(high, low) of the element's flat index; rbg: blocks from the key's own 128 bits",
    offset_unit="element",
    float_map="upper 23 bits as a fraction, in [0, 1)",
    batch="nothing with partitionable bits; the old threefry path changes every element with the size",
    gpu="rbg promises nothing across backends; last bits of normals",
    status=VERIFIED,
    evidence="5 implementations, 3 seeds, both paths: keys, bits, uniforms, split, fold_in, randint exact on a CPU",
    sources=("jax/_src/random (0.10.2)",),
)

VLLM_V2 = Entry(
    engine="vllm_v2",
    versions=("0.33.0",),
    make="repro.streams.token_noise:VllmV2Noise",
    facts=(
        f.SIGNED_SEED,
        f.POSITION,
        Fact("role", "who samples", "target, or draft in speculative decoding", choices=("target", "draft")),
    ),
    key="MurmurHash3 of (seed, position + 2^30 for drafts, token)",
    counter="none",
    offset_unit="token",
    float_map="(h + 1/2) 2^-32 rounded to float32",
    batch=NOTHING,
    gpu="nothing in the words",
    status=VERIFIED,
    evidence="8 x 4096 hashes, uniforms, 53-bit uniforms of Triton's interpreter and of an H200: exact",
    sources=("vllm/v1/worker/gpu/sample/gumbel.py (0.33.0)",),
)

SGLANG = Entry(
    engine="sglang",
    versions=("0.5.23",),
    make="repro.streams.token_noise:SglangNoise",
    facts=(f.SIGNED_SEED, f.POSITION),
    key="MurmurHash3 of (seed, position, column)",
    counter="none",
    offset_unit="column: token id, or rank in the sorted row as soon as one row of the batch filters",
    float_map="h / (2^32 - 1) in float64, both ends included",
    batch="a neighbour with top-k, top-p or min-p turns ids into ranks",
    gpu="nothing in the words",
    status=VERIFIED,
    evidence="8 x 4096 hashes of Triton's interpreter and of an H200: exact",
    sources=("sglang/srt/layers/sampler.py, sglang/kernels/ops/sampling/murmur_hash.py (0.5.23)",),
)

ROCRAND_DEVICE = Entry(
    engine="rocrand_device",
    versions=("dc3656f1",),
    make="repro.streams.other_philox:RocrandDevice",
    facts=(f.SEED, f.SUBSEQUENCE, f.OFFSET),
    key="seed (0xdeadbeefdeadbeef when none is given)",
    counter="(offset div 4, subsequence), as cuRAND",
    offset_unit="word",
    float_map="w 2^-32 + 2^-32, in (0, 1]",
    batch=NOTHING,
    gpu="not checked",
    status=UNVERIFIED,
    evidence="none: from the source",
    sources=("ROCm/rocRAND dc3656f1, rocrand_philox4x32_10.h",),
)

ROCRAND_HOST = Entry(
    engine="rocrand_host",
    versions=("dc3656f1",),
    make="repro.streams.other_philox:RocrandHost",
    facts=(replace(f.SEED, where="rocrand_set_seed; 0 by default"), f.OFFSET),
    key="seed",
    counter="(n div 4, 0): output n is word n of subsequence 0, unlike cuRAND's 65536 turns",
    offset_unit="word",
    float_map="w 2^-32 + 2^-32, in (0, 1]",
    batch="a misaligned output pointer shifts the head",
    gpu="not checked",
    status=UNVERIFIED,
    evidence="none: from the source",
    sources=("ROCm/rocRAND dc3656f1",),
)

TENSORFLOW = Entry(
    engine="tensorflow",
    versions=("2",),
    make="repro.streams.other_philox:Tensorflow",
    facts=(
        replace(f.SEED, where="the op's first seed"),
        Fact("seed2", "the op's second seed", "the op's attributes"),
        Fact("skip", "groups of four already drawn", "0 for a stateless op", most=2**62 - 1),
    ),
    key="first seed",
    counter="(group, second seed)",
    offset_unit="block of four",
    float_map="lower 23 bits as a fraction, in [0, 1)",
    batch="nothing: the order does not follow the launch",
    gpu="nothing by its source",
    status=UNVERIFIED,
    evidence="none: from the source of an old commit",
    sources=("tensorflow/core/lib/random/philox_random.h",),
)

TORCH_STATELESS = Entry(
    engine="torch_stateless",
    versions=("2.14.1",),
    make="repro.streams.other_philox:TorchStateless",
    facts=(
        replace(f.SEED, where="torch.func._random.key(seed)"),
        Fact("offset", "blocks already drawn", "the key's second word", most=2**62 - 1),
    ),
    key="seed",
    counter="(offset + block, 0)",
    offset_unit="block of four words",
    float_map="(w mod 2^24) 2^-24, in [0, 1)",
    batch=NOTHING,
    gpu="nothing by its source",
    status=UNVERIFIED,
    evidence="none recorded here",
    sources=("pytorch/pytorch pull requests 177229 and 177230",),
)

CPP_PHILOX = Entry(
    engine="std_philox4x32",
    versions=("26",),
    make="repro.streams.other_philox:CppPhilox",
    facts=(replace(f.SEED32, where="the constructor; 20111115 by default"),),
    key="(seed, 0)",
    counter="from 0, in order",
    offset_unit="block",
    float_map="left to std::uniform_real_distribution of the library",
    batch=NOTHING,
    gpu="no GPU",
    status=VERIFIED,
    evidence="the standard's 10000th output for the default seed",
    sources=("C++26 draft, rand.eng.philox",),
)

ENTRIES = (
    CURAND_DEVICE,
    CURAND_HOST,
    TORCH_CUDA,
    TORCH_CPU,
    TRITON,
    NUMPY,
    JAX,
    VLLM_V2,
    SGLANG,
    ROCRAND_DEVICE,
    ROCRAND_HOST,
    TENSORFLOW,
    TORCH_STATELESS,
    CPP_PHILOX,
)

"""Philox4x32-10 in Triton: one source for the interpreter and the GPU.

Words are uint32 and 64-bit counters uint64 from end to end; only sums, products, `umulhi`, xor and shifts touch them,
never `//`, `%` or a comparison, whose signedness has varied between versions of Triton.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from numpy.typing import NDArray

from deepinfer.errors import InputError

U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
TILE = 1024


@triton.jit
def philox4x32_block(c0, c1, c2, c3, k0, k1):  # type: ignore[no-untyped-def]
    """The block function: six uint32 tensors (broadcastable) to the four uint32 words of the block."""
    for _ in tl.static_range(10):
        low0, low1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c2 = tl.umulhi(c2, 0xCD9E8D57) ^ c1 ^ k0, tl.umulhi(c0, 0xD2511F53) ^ c3 ^ k1
        c1, c3 = low1, low0
        k0 = k0 + 0x9E3779B9
        k1 = k1 + 0xBB67AE85
    return c0, c1, c2, c3


@triton.jit
def low32(x):  # type: ignore[no-untyped-def]
    """The low half of a uint64 tensor, uint32."""
    return (x & 0xFFFFFFFF).to(tl.uint32)


@triton.jit
def high32(x):  # type: ignore[no-untyped-def]
    """The high half of a uint64 tensor, uint32."""
    return (x >> 32).to(tl.uint32)


@triton.jit
def stream_block(seed, subsequence, index):  # type: ignore[no-untyped-def]
    """Block `index` (words 4 * index ...) of the stream (seed, subsequence): uint64 tensors to four uint32 tensors."""
    return philox4x32_block(
        low32(index), high32(index), low32(subsequence), high32(subsequence), low32(seed), high32(seed)
    )


@triton.jit
def uniform_from_word(word):  # type: ignore[no-untyped-def]
    """cuRAND's float map of a uint32 tensor. The product is exact, so a fused multiply-add gives the same bits."""
    return word.to(tl.float32) * 2.3283064365386963e-10 + 1.16415321826934814e-10


@triton.jit  # type: ignore[untyped-decorator]
def _store(out, base, place, count, word, inside, UNIFORM: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    value = word
    if UNIFORM:
        value = uniform_from_word(word)
    tl.store(out + base + place, value, mask=inside & (place >= 0) & (place < count))


@triton.jit  # type: ignore[untyped-decorator]
def words_kernel(seeds, subsequences, starts, out, total, blocks, count, UNIFORM: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Each element of the grid is one block of one stream; `total` = keys * blocks. The key arrays are int64 bits."""
    element = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = element < total
    key = element // blocks
    block = element - key * blocks
    seed = tl.load(seeds + key, mask=inside, other=0).to(tl.uint64, bitcast=True)
    subsequence = tl.load(subsequences + key, mask=inside, other=0).to(tl.uint64, bitcast=True)
    start = tl.load(starts + key, mask=inside, other=0).to(tl.uint64, bitcast=True)
    w0, w1, w2, w3 = stream_block(seed, subsequence, (start >> 2) + block.to(tl.uint64))
    place = block * 4 - (start & 3).to(tl.int64)
    base = key * count
    _store(out, base, place, count, w0, inside, UNIFORM)
    _store(out, base, place + 1, count, w1, inside, UNIFORM)
    _store(out, base, place + 2, count, w2, inside, UNIFORM)
    _store(out, base, place + 3, count, w3, inside, UNIFORM)


def interpreted() -> bool:
    """Whether Triton was imported with TRITON_INTERPRET set, so that kernels run on the CPU in its interpreter."""
    return not isinstance(words_kernel, triton.JITFunction)


def check_device(device: str | None) -> str:
    """The device that kernels run on: `cpu` in the interpreter, else a `cuda` device. None names that one."""
    if interpreted():
        if device not in (None, "cpu"):
            raise InputError(
                f"device is {device!r}: Triton's interpreter (TRITON_INTERPRET is set) runs on 'cpu' alone"
            )
        return "cpu"
    if not torch.cuda.is_available():
        raise InputError(
            "backend 'triton' has no GPU here: set TRITON_INTERPRET=1 before triton is imported, or use backend='torch'"
        )
    if device is not None and torch.device(device).type != "cuda":
        raise InputError(f"device is {device!r}: compiled Triton kernels run on 'cuda' or 'cuda:N'")
    return device or "cuda"


def _fill(seeds: U64, subsequences: U64, starts: U64, count: int, device: str | None, dtype: torch.dtype) -> Any:
    where = check_device(device)
    keys = [torch.from_numpy(x.view(np.int64).copy()).to(where) for x in (seeds, subsequences, starts)]
    out = torch.empty((len(seeds), count), dtype=dtype, device=where)
    blocks = (count + 6) // 4
    total = len(seeds) * blocks
    if out.numel():
        grid = (triton.cdiv(total, TILE),)
        words_kernel[grid](*keys, out, total, blocks, count, UNIFORM=dtype == torch.float32, TILE=TILE)
    return out.cpu().numpy()


def words_many(seeds: U64, subsequences: U64, starts: U64, count: int, *, device: str | None = None) -> U32:
    """As deepinfer.rng.reference.words_many, in one launch on `device`."""
    words: U32 = _fill(seeds, subsequences, starts, count, device, torch.int32).view(np.uint32)
    return words


def uniform_many(
    seeds: U64, subsequences: U64, starts: U64, count: int, *, device: str | None = None
) -> NDArray[np.float32]:
    """As deepinfer.rng.reference.uniform_many, in one launch on `device`."""
    values: NDArray[np.float32] = _fill(seeds, subsequences, starts, count, device, torch.float32)
    return values

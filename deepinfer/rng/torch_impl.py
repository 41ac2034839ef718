"""Philox4x32-10 in torch operations alone, for any device. Words live in int64, which holds uint32 without a sign."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.rng.spec import MULTIPLIER, ROUNDS, U64, WEYL

MASK = 0xFFFFFFFF


def multiply(constant: int, word: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """High and low 32 bits of constant * word. The product needs 64 unsigned bits, so it is taken in two parts."""
    low = (constant & 0xFFFF) * word
    high = (constant >> 16) * word + (low >> 16)
    return high >> 16, ((high & 0xFFFF) << 16) | (low & 0xFFFF)


def philox4x32(counter: list[torch.Tensor], key: list[torch.Tensor]) -> list[torch.Tensor]:
    """The block function: four counter words and two key words (int64 holding uint32, broadcast) to four words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for index in range(ROUNDS):
        if index:
            k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
        high0, low0 = multiply(MULTIPLIER[0], c0)
        high1, low1 = multiply(MULTIPLIER[1], c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
    return [c0, c1, c2, c3]


def halves(x: torch.Tensor) -> list[torch.Tensor]:
    """Low and high 32 bits of int64 holding uint64."""
    return [x & MASK, (x >> 32) & MASK]


def words_tensor(seeds: torch.Tensor, subsequences: torch.Tensor, starts: torch.Tensor, *, count: int) -> torch.Tensor:
    """Words of each stream on the tensors' device: three int64[n] holding uint64 to int64[n, count] holding uint32."""
    index = torch.arange((count + 6) // 4, device=seeds.device) + ((starts >> 2) & (2**62 - 1))[:, None]
    blocks = philox4x32(
        halves(index) + [x.expand_as(index) for x in halves(subsequences[:, None])],
        [x.expand_as(index) for x in halves(seeds[:, None])],
    )
    flat = torch.stack(blocks, dim=-1).reshape(len(seeds), 4 * index.shape[1])
    return flat.gather(1, (starts & 3)[:, None] + torch.arange(count, device=seeds.device))


def uniform_from_words(words: torch.Tensor) -> torch.Tensor:
    """cuRAND's float map of int64 holding uint32: float32 in (0, 1]."""
    return words.to(torch.float32) * 2.0**-32 + 2.0**-33


def _tensors(device: str, *arrays: U64) -> list[torch.Tensor]:
    try:
        return [torch.from_numpy(x.view(np.int64).copy()).to(device) for x in arrays]
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"device is {device!r}, which torch cannot use ({reason}): give one it can, such as 'cpu'"
        ) from None


def words_many(seeds: U64, subsequences: U64, starts: U64, count: int, *, device: str = "cpu") -> NDArray[np.uint32]:
    """As deepinfer.rng.reference.words_many, computed on `device`."""
    words = words_tensor(*_tensors(device, seeds, subsequences, starts), count=count)
    result: NDArray[np.uint32] = words.cpu().numpy().astype(np.uint32)
    return result


def uniform_many(seeds: U64, subsequences: U64, starts: U64, count: int, *, device: str = "cpu") -> NDArray[np.float32]:
    """As deepinfer.rng.reference.uniform_many, computed on `device`."""
    values = uniform_from_words(words_tensor(*_tensors(device, seeds, subsequences, starts), count=count))
    result: NDArray[np.float32] = values.cpu().numpy()
    return result

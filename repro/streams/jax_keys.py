"""JAX's keys and random bits, by implementation name. A key is a tuple of 32-bit words.

Source: jax/_src/random of 0.10.2; `rbg` and `unsafe_rbg` as XLA's CPU backend makes them (recorded outputs).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepinfer.rng.reference import philox4x32
from repro.streams.philox2x32 import philox2x32
from repro.streams.threefry2x32 import threefry2x32

U32 = NDArray[np.uint32]
Key = tuple[int, ...]
IMPLEMENTATIONS = ("threefry2x32", "rbg", "unsafe_rbg", "philox4x32", "philox2x32")
STRIDE = 10
"""`unsafe_rbg` keeps every tenth block of a stream when it makes keys."""


def key_of_seed(impl: str, seed: int, x64: bool) -> Key:
    """jax.random.key(seed, impl=...). Without 64-bit types the seed's upper half is dropped."""
    halves = ((seed >> 32) & 0xFFFFFFFF if x64 else 0, seed & 0xFFFFFFFF)
    if impl == "threefry2x32":
        return halves
    if impl.endswith("rbg"):
        return halves * 2
    if impl == "philox4x32":
        return _words(philox4x32(np.asarray([*halves, 0, 0], np.uint32), np.zeros(2, np.uint32))[:2])
    return _words(philox2x32(np.asarray(halves, np.uint32), np.zeros((), np.uint32))[:1])


def bits(impl: str, key: Key, count: int, width: int, partitionable: bool) -> NDArray[np.unsignedinteger]:
    """jax.random.bits of `count` elements of 8, 16, 32 or 64 bits, uint{width}[count]."""
    if impl == "threefry2x32" and not partitionable:
        return _bits_original(key, count, width)
    if impl.endswith("rbg"):
        per_block = 2 if width == 64 else 4
        flat = _rbg(key, -(-count // per_block)).reshape(-1)
        return flat.view(np.uint64)[:count] if width == 64 else flat[:count].astype(f"u{width // 8}")
    if impl == "philox4x32":
        wide = philox4x32(np.pad(_indices(count), ((0, 0), (0, 2))), np.asarray(key, np.uint32))
    elif impl == "philox2x32":
        wide = philox2x32(_indices(count), np.asarray(key[0], np.uint32))
    else:
        wide = threefry2x32(_indices(count), np.asarray(key, np.uint32))
    if width == 64:
        return (wide[:, 0].astype(np.uint64) << np.uint64(32)) | wide[:, 1]
    folded: U32 = np.bitwise_xor.reduce(wide, axis=1)
    return folded.astype(f"u{width // 8}")


def split(impl: str, key: Key, count: int, partitionable: bool) -> list[Key]:
    """jax.random.split(key, count)."""
    if impl == "threefry2x32":
        if partitionable:
            return [_words(row) for row in threefry2x32(_indices(count), np.asarray(key, np.uint32))]
        return [_words(row) for row in _bits_original(key, 2 * count, 32).reshape(-1, 2)]
    if impl == "rbg":
        halves = (split("threefry2x32", half, count, partitionable) for half in (key[:2], key[2:]))
        return [first + second for first, second in zip(*halves, strict=True)]
    if impl == "unsafe_rbg":
        return [_words(row) for row in _rbg(key, STRIDE * count)[::STRIDE]]
    if impl == "philox4x32":
        counters = np.pad(_indices(count), ((0, 0), (2, 0)))
        return [_words(row[:2]) for row in philox4x32(counters, np.asarray(key, np.uint32))]
    return [_words(row[:1]) for row in philox2x32(_indices(count), np.asarray(key[0], np.uint32))]


def fold_in(impl: str, key: Key, data: int) -> Key:
    """jax.random.fold_in(key, data); data is 32 bits."""
    if impl == "threefry2x32":
        return _words(threefry2x32(np.asarray([0, data], np.uint32), np.asarray(key, np.uint32)))
    if impl == "rbg":
        return fold_in("threefry2x32", key[:2], data) + fold_in("threefry2x32", key[2:], data)
    if impl == "unsafe_rbg":
        mixed = _rbg((0, data, 0, data), STRIDE)[-1]
        return _words(np.asarray(key, np.uint32) ^ mixed)
    if impl == "philox4x32":
        return _words(philox4x32(np.asarray([0, 0, 0, data], np.uint32), np.asarray(key, np.uint32))[:2])
    return _words(philox2x32(np.asarray([0, data], np.uint32), np.asarray(key[0], np.uint32))[:1])


def _words(row: U32) -> Key:
    return tuple(int(word) for word in row)


def _indices(count: int) -> U32:
    """(high, low) words of 0 .. count - 1."""
    index = np.arange(count, dtype=np.uint64)
    return np.stack([index >> np.uint64(32), index & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)


def _bits_original(key: Key, count: int, width: int) -> NDArray[np.unsignedinteger]:
    """The path before partitionable bits: the counters 0 .. n - 1 in two halves, hashed pair by pair."""
    words = -(-count * width // 32)
    counters = np.zeros(words + words % 2, np.uint32)
    counters[:words] = np.arange(words)
    hashed = threefry2x32(counters.reshape(2, -1).T, np.asarray(key, np.uint32)).T.reshape(-1)[:words]
    if width == 64:
        return (hashed[:count].astype(np.uint64) << np.uint64(32)) | hashed[count:]
    return hashed.astype("<u4").view(f"<u{width // 8}")[:count]


def _rbg(key: Key, blocks: int) -> U32:
    """XLA's Philox, uint32[blocks, 4]: the first two words are the key, the last two and they the 128-bit counter."""
    start = sum(word << 32 * place for place, word in enumerate(key[2:] + key[:2]))
    counters = [[(start + block) >> 32 * place & 0xFFFFFFFF for place in range(4)] for block in range(blocks)]
    return philox4x32(np.asarray(counters, np.uint32).reshape(-1, 4), np.asarray(key[:2], np.uint32))

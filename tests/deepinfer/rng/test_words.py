"""Words and uniforms of every backend against known answers and an H200's curand_kernel.h, as integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepinfer.rng import StreamKey, reference, words

KAT = Path(__file__).parents[2] / "data" / "kat_philox4x32.txt"
TOP = 2**64 - 1

# curand_init(seed, subsequence, offset) and four curand(), from NVIDIA's header
CURAND = [
    (42, 0, 0, "9ceaf053 77f5493b 12bf50ad 5742b3d7"),
    (42, 0, 3, "5742b3d7 fcdb2127 53ba6cfd 838f5a6e"),
    (42, 0, 4, "fcdb2127 53ba6cfd 838f5a6e 744e06fb"),
    (42, 0, 1023, "36a912f0 9abb6458 999a2997 6d5fe56b"),
    (42, 0, 0x3FFFFFFFC, "6e2412de 41d4ec95 29dd3e0c aed56cfa"),
    (42, 0, 0x400000001, "7dbf5de8 2fe739d4 6aaf03eb 220383a8"),
    (42, 0, TOP, "aa18bda3 4030725f 37acff1c 2b02a55b"),
    (42, 7, 0, "67ee6f2c e55410cc 6c7eca35 557398d3"),
    (0xDEADBEEFCAFEBABE, 2**32, 0, "ce11bc69 3ec6eec5 01a7906d c8a769e5"),
    (0xDEADBEEFCAFEBABE, 2**32, 0x400000001, "fbc35e9e 89f509c4 5bd90644 2c0f601f"),
    (TOP, TOP, 0, "3d3be307 716983d6 70094bed 36c3cf91"),
    (TOP, TOP, TOP, "411fcefd c6c2f643 593202a0 1edab3f5"),
]


def test_block_function_gives_the_known_answers() -> None:
    rows = [line.split() for line in KAT.read_text().splitlines() if not line.startswith("#")]
    assert len(rows) == 4
    for rounds, *rest in rows:
        counter, key, output = (np.asarray([int(x, 16) for x in part], np.uint32) for part in _cut(rest, 4, 2, 4))
        assert reference.philox4x32(counter, key, int(rounds)).tolist() == output.tolist()


def _cut(items: list[str], *sizes: int) -> list[list[str]]:
    assert len(items) == sum(sizes)
    ends = np.cumsum(sizes)
    return [items[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def test_known_answers_of_the_standard_library_engine() -> None:
    """std::philox4x32 of C++26: seed 20111115, output number 10 000."""
    assert words(StreamKey(20111115, 0), 9999, 1).tolist() == [1955073260]


def test_words_equal_nvidias_header(many_words: Any) -> None:
    seeds, subsequences, starts = (np.asarray(x, np.uint64) for x in zip(*(c[:3] for c in CURAND), strict=True))
    got = many_words(seeds, subsequences, starts, 4)
    assert [" ".join(f"{word:08x}" for word in row) for row in got] == [c[3] for c in CURAND]


def test_words_equal_the_h200(many_words: Any, golden_device: dict[str, np.ndarray]) -> None:
    seeds, subsequences, offsets = golden_device["cases"].T
    got = many_words(seeds, subsequences, offsets, 16)
    assert got.dtype == np.uint32
    np.testing.assert_array_equal(got, golden_device["u32"])
    np.testing.assert_array_equal(got[:, :8], golden_device["mixed"])  # curand, curand4, curand, curand, curand
    np.testing.assert_array_equal(got[:, 5:9], golden_device["skip"])  # skipahead(5), then four
    moved = many_words(seeds, subsequences + np.uint64(3), offsets, 4)
    np.testing.assert_array_equal(moved, golden_device["skipseq"])


def test_shifted_words_are_noticed(many_words: Any, golden_device: dict[str, np.ndarray]) -> None:
    """The control: one word later, no case and next to no word agrees."""
    seeds, subsequences, offsets = golden_device["cases"].T
    shifted = many_words(seeds, subsequences, offsets, 17)[:, 1:]
    equal = shifted == golden_device["u32"]
    assert not equal.all(axis=1).any()
    assert equal.mean() < 0.01


def test_uniforms_equal_the_h200(many_uniforms: Any, golden_device: dict[str, np.ndarray]) -> None:
    got = many_uniforms(*golden_device["cases"].T, 8)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.view(np.uint32), golden_device["uniform"].view(np.uint32))
    np.testing.assert_array_equal(got[:, :4].view(np.uint32), golden_device["uniform4"].view(np.uint32))


@pytest.mark.parametrize("start", [0, 2, 3, 2**34 - 70, 2**34, 2**64 - 5, 2**64 - 1])
def test_any_start_and_count_is_a_piece_of_one_stream(many_words: Any, start: int) -> None:
    """2^34 words: the low counter word wraps. 2^64: the block counter goes on."""
    stream = np.stack([_block(StreamKey(11, 22), (start >> 2) + i) for i in range(72)]).reshape(-1)
    for count in (1, 63, 257):
        got = many_words([11], [22], [start], count)
        np.testing.assert_array_equal(got[0], stream[start & 3 :][:count])


def _block(key: StreamKey, index: int) -> np.ndarray:
    counter = [index & 0xFFFFFFFF, index >> 32, key.subsequence & 0xFFFFFFFF, key.subsequence >> 32]
    halves = [key.seed & 0xFFFFFFFF, key.seed >> 32]
    return reference.philox4x32(np.asarray(counter, np.uint32), np.asarray(halves, np.uint32))


def test_no_words_is_an_empty_row(many_words: Any) -> None:
    assert many_words([1, 2], [0], [0], 0).shape == (2, 0)
    assert many_words([], [], [], 4).shape == (0, 4)

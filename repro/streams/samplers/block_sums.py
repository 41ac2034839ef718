"""Float32 sums and scans in the order of one CUDA thread block, as FlashInfer's sampling kernels do them.

Sources: flashinfer/sampling.cuh (DeterministicInclusiveSum), cub's BlockReduce with warp reductions. A tile is
`threads` x `vec` consecutive columns, `vec` of them a thread. The order inside a thread follows cub's version: one
after the other, or as a binary tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
WARP = 32
_LANE = np.arange(WARP)
ORDERS = ("in turn", "tree")


def tiles(row: F32, vec: int, threads: int) -> F32:
    """A row padded with zeros, float32[tiles, threads, vec]; subnormals are zeros, as on a GPU with fast math."""
    size = vec * threads
    padded = np.zeros(-(-len(row) // size) * size, np.float32)
    padded[: len(row)] = np.where(row < np.float32(2.0**-126), np.float32(0), row)
    return padded.reshape(-1, threads, vec)


def thread_sums(tile: F32, order: str) -> F32:
    """Each thread's own columns, float32[threads]."""
    if order == "tree" and tile.shape[1] == 4:
        return (tile[:, 0] + tile[:, 1]) + (tile[:, 2] + tile[:, 3])
    total = tile[:, 0]
    for column in range(1, tile.shape[1]):
        total = total + tile[:, column]
    return total


def block_sum(values: F32) -> np.float32:
    """One value a thread: a tree in each warp, then the warps in turn."""
    warps = values.reshape(-1, WARP)
    while warps.shape[1] > 1:
        warps = warps[:, 0::2] + warps[:, 1::2]
    total = warps[0, 0]
    for warp in warps[1:, 0]:
        total = np.float32(total + warp)
    return np.float32(total)


def running_sums(tile: F32) -> F32:
    """The inclusive scan over a tile's columns, float32[threads, vec]: a Blelloch scan in each warp and over warps."""
    own = np.cumsum(tile, axis=1, dtype=np.float32)
    before, totals = _exclusive(own[:, -1].reshape(-1, WARP))
    padded = np.zeros((1, WARP), np.float32)
    padded[0, : len(totals)] = totals
    warps, _ = _exclusive(padded)
    return (warps[0, : len(totals), None] + before).reshape(-1)[:, None] + own


def mass_above(row_tiles: F32, chosen: NDArray[np.bool_]) -> np.float32:
    """The sum over the chosen columns of all tiles: each thread adds its own in turn, then the block."""
    total = np.zeros(row_tiles.shape[1], np.float32)
    for tile, inside in zip(row_tiles, chosen, strict=True):
        for column in range(tile.shape[1]):
            total = total + np.where(inside[:, column], tile[:, column], np.float32(0))
    return block_sum(total)


def first_above(row_tiles: F32, chosen: NDArray[np.bool_], u: np.float32, columns: int, order: str) -> int:
    """The first chosen column whose running sum exceeds u; where none does, the last one chosen of those looked at."""
    total, last = np.float32(0), -1
    for index, (tile, inside) in enumerate(zip(row_tiles, chosen, strict=True)):
        masked = np.where(inside, tile, np.float32(0))
        here = block_sum(thread_sums(masked, order))
        if np.float32(total + here) > u:
            hit = np.flatnonzero(((running_sums(masked) + total > u) & inside).ravel()) + index * tile.size
            if hit.size and hit[0] < columns:
                return int(hit[0])
        seen = np.flatnonzero(inside.ravel()) + index * tile.size
        seen = seen[seen < columns]
        last = int(seen[-1]) if seen.size else last
        total = np.float32(total + here)
        if total > u:
            break
    return last


def _exclusive(warps: F32) -> tuple[F32, F32]:
    """float32[n, 32] to what stands before each lane, and the warps' totals."""
    values = warps.copy()
    for offset in (1, 2, 4, 8, 16):
        up = (_LANE + 1) % (2 * offset) == 0
        values[:, up] = values[:, up] + values[:, _LANE[up] - offset]
    totals = values[:, -1].copy()
    values[:, -1] = 0
    for offset in (16, 8, 4, 2, 1):
        other, right = values[:, _LANE ^ offset], (_LANE + 1) % (2 * offset) == 0
        left = (_LANE + 1) % (2 * offset) == offset
        after = values.copy()
        after[:, right] = other[:, right] + values[:, right]
        after[:, left] = other[:, left]
        values = after
    return values, totals

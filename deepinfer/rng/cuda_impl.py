"""Philox4x32-10 in CUDA (csrc/cuda/philox.cu), built by nvcc on first use. Needs a GPU, and no torch."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.native import load_cuda, pointer

U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]
U64 = NDArray[np.uint64]


def words_many(seeds: U64, subsequences: U64, starts: U64, count: int, *, device: int = 0, arch: str = "sm_90") -> U32:
    """As deepinfer.rng.reference.words_many, on GPU number `device`, by code built for `arch`."""
    out = np.empty((len(seeds), count), np.uint32)
    _fill("philox_words_host", seeds, subsequences, starts, out, device, arch)
    return out


def uniform_many(
    seeds: U64, subsequences: U64, starts: U64, count: int, *, device: int = 0, arch: str = "sm_90"
) -> F32:
    """As deepinfer.rng.reference.uniform_many, on GPU number `device`, by code built for `arch`."""
    out = np.empty((len(seeds), count), np.float32)
    _fill("philox_uniform_floats_host", seeds, subsequences, starts, out, device, arch)
    return out


def _fill(function: str, seeds: U64, subsequences: U64, starts: U64, out: NDArray[Any], device: int, arch: str) -> None:
    library = load_cuda("philox", arch)
    found = ctypes.c_int(0)
    status = library.philox_device_count(ctypes.byref(found))
    if status or not 0 <= device < found.value:
        why = _text(library, status) if status else f"device {device} of {found.value}"
        raise InputError(f"RNG backend 'cuda' has no such GPU ({why}): give one that is there, or use backend='native'")
    keys, count = out.shape
    status = library.philox_set_device(device) or library[function](
        pointer(seeds, np.uint64),
        pointer(subsequences, np.uint64),
        pointer(starts, np.uint64),
        ctypes.c_int64(keys),
        ctypes.c_int64(count),
        pointer(out, out.dtype, write=True),
    )
    if status:
        raise InputError(f"RNG backend 'cuda' failed on device {device}: {_text(library, status)} (arch is {arch!r})")


def _text(library: ctypes.CDLL, status: int) -> str:
    library.philox_error.restype = ctypes.c_char_p
    message: bytes = library.philox_error(status)
    return message.decode()

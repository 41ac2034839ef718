"""NVIDIA's own code as an oracle on any Linux x86-64 machine, without a GPU (docs/spec/rng.md, section 6).

`curand_host` calls libcurand's host generator through ctypes; `curand_device` compiles NVIDIA's curand_kernel.h as
ordinary C++. Both need the extra `oracle`.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError, MissingExtra, unknown_name
from deepinfer.native import load_oracle, pointer
from deepinfer.rng.spec import check_count, u64

PHILOX4_32_10 = 161
ORDERINGS = {"best": 100, "default": 101, "legacy": 103}
STATUS_OUT_OF_RANGE = 104

HOST_KINDS: dict[str, tuple[str, type[np.generic]]] = {
    "u32": ("curandGenerate", np.uint32),
    "uniform": ("curandGenerateUniform", np.float32),
    "uniform2_double": ("curandGenerateUniformDouble", np.float64),
    "normal": ("curandGenerateNormal", np.float32),
}
"""Kind -> function of libcurand and the dtype of its outputs. The host API's double has 53 bits."""

DEVICE_KINDS: dict[str, type[np.generic]] = {
    "u32": np.uint32,
    "uniform": np.float32,
    "uniform_double": np.float64,
    "uniform2_double": np.float64,
    "normal": np.float32,
    "normal_double": np.float64,
    "log_normal": np.float32,
    "poisson": np.uint32,
}
"""Kind -> dtype of what `curand_device` returns."""

HEADERS = {
    "nvidia-curand": "curand_kernel.h",
    "nvidia-cuda-runtime": "cuda_runtime.h",
    "nvidia-cuda-crt": "crt/host_config.h",
    "nvidia-cuda-cccl": "nv/target",
}
"""Distribution -> a header it brings, whose folder goes on the include path."""


def curand_host(seed: int, offset: int, count: int, ordering: str = "default", kind: str = "u32") -> NDArray[Any]:
    """Outputs offset .. offset + count - 1 of a curandCreateGeneratorHost generator, Philox4_32_10.

    `normal` has mean 0 and standard deviation 1. Raises MissingExtra without libcurand, InputError for an unknown
    ordering or kind and for a status other than success.
    """
    if ordering not in ORDERINGS:
        raise unknown_name("cuRAND ordering", ordering, list(ORDERINGS))
    if kind not in HOST_KINDS:
        raise unknown_name("kind of the cuRAND host generator", kind, list(HOST_KINDS))
    function, dtype = HOST_KINDS[kind]
    out = np.zeros(check_count(count), dtype)
    arguments: list[Any] = [pointer(out, dtype, write=True), ctypes.c_size_t(count)]
    if kind == "normal":
        arguments += [ctypes.c_float(0), ctypes.c_float(1)]
    with_host_generator(seed, offset, ordering, lambda call, generator: call(function, generator, *arguments))
    return out


def with_host_generator(
    seed: int, offset: int, ordering: str, use: Callable[..., None], kind: int = PHILOX4_32_10
) -> None:
    """`use(call, generator)` with a generator of `kind` (curandRngType) set to seed, offset and ordering, which is
    destroyed afterwards. Offset 0 is not set: some kinds know no offset.

    `call(function, *arguments)` calls libcurand and raises InputError for a status other than success.
    """
    library = _libcurand()

    def call(function: str, *arguments: Any) -> None:
        status = library[function](*arguments)
        if status:
            raise InputError(f"{function} returned cuRAND status {status}: see curandStatus in curand.h")

    generator = ctypes.c_void_p()
    call("curandCreateGeneratorHost", ctypes.byref(generator), kind)
    try:
        call("curandSetPseudoRandomGeneratorSeed", generator, ctypes.c_uint64(u64("seed", seed)))
        call("curandSetGeneratorOrdering", generator, ORDERINGS[ordering])
        if u64("offset", offset):
            call("curandSetGeneratorOffset", generator, ctypes.c_uint64(offset))
        use(call, generator)
    finally:
        library["curandDestroyGenerator"](generator)


def curand_device(
    seed: int,
    subsequence: int,
    offset: int,
    count: int,
    kind: str = "u32",
    *,
    mean: float = 0.0,
    stddev: float = 1.0,
    lam: float = 1.0,
) -> NDArray[Any]:
    """`count` values of the device API after curand_init(seed, subsequence, offset): curand_kernel.h built for the CPU.

    `mean` and `stddev` matter to `log_normal`, `lam` to `poisson`. Its normals use the C library's float functions
    where a GPU uses hardware approximations. Raises MissingExtra without the headers, InputError for an unknown kind.
    """
    if kind not in DEVICE_KINDS:
        raise unknown_name("kind of the cuRAND device API", kind, list(DEVICE_KINDS))
    dtype = DEVICE_KINDS[kind]
    out = np.zeros(check_count(count), dtype)
    extra: dict[str, list[Any]] = {
        "log_normal": [ctypes.c_float(mean), ctypes.c_float(stddev)],
        "poisson": [ctypes.c_double(lam)],
    }
    folders, version = _headers()
    load_oracle("curand_device", folders, version)[f"device_{kind}"](
        ctypes.c_uint64(u64("seed", seed)),
        ctypes.c_uint64(u64("subsequence", subsequence)),
        ctypes.c_uint64(u64("offset", offset)),
        ctypes.c_int64(count),
        *extra.get(kind, []),
        pointer(out, dtype, write=True),
    )
    return out


def _installed(package: str, ending: str) -> Path:
    """The file of an installed distribution whose path ends so."""
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        raise MissingExtra("the cuRAND oracle", "oracle", package) from None
    found = sorted(Path(str(x.locate())) for x in files if x.as_posix().endswith(f"/{ending}"))
    if not found:
        raise MissingExtra("the cuRAND oracle", "oracle", f"{ending} of {package}")
    return found[0]


@functools.cache
def _libcurand() -> ctypes.CDLL:
    return ctypes.CDLL(str(_installed("nvidia-curand", "libcurand.so.10")))


@functools.cache
def _headers() -> tuple[tuple[Path, ...], str]:
    folders = [_installed(package, header).parents[header.count("/")] for package, header in HEADERS.items()]
    return tuple(dict.fromkeys(folders)), " ".join(f"{x} {distribution(x).version}" for x in HEADERS)

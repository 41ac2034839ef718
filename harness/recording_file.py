"""Files of recorded arrays: .npz and .safetensors, opened without ever running what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from deepinfer.errors import InputError
from harness.recorded import RECORDING

Array = NDArray[Any]


def names_in(path: str) -> list[str]:
    """The names of the arrays in a file. Raises InputError where it cannot be read."""
    with _opened(path) as archive:
        return list(archive.keys())


def read_entry(path: str, entry: str, names: tuple[str, ...]) -> dict[str, Array]:
    """The arrays ENTRY.NAME of a file, by NAME. Raises InputError where one cannot be read."""
    with _opened(path) as archive:
        get = archive.get_tensor if hasattr(archive, "get_tensor") else archive.__getitem__
        try:
            return {name: get(f"{entry}.{name}") for name in names}
        except Exception as error:
            raise InputError(f"cannot read {entry} of {path!r} ({one_line(error)}): record it again") from None


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """An .npz or .safetensors file, open for reading arrays by name. Pickles are refused."""
    kind = Path(path).suffix
    if kind not in (".npz", ".safetensors"):
        raise InputError(f"unknown recording {path!r}: known are {RECORDING}, an .npz or a .safetensors file")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
            if kind == ".npz":
                archive = np.load(file, allow_pickle=False)
                archive.keys()  # a lone .npy array has none
            else:
                archive = safe_open(path, framework="numpy")
            stack.enter_context(archive)
        except OSError as error:
            raise InputError(f"cannot read {path!r} ({error.strerror or error}): give an existing file") from None
        except Exception as error:
            raise InputError(f"{path!r} is no {kind} file ({one_line(error)}): record it again") from None
        yield archive


def one_line(error: BaseException) -> str:
    """An exception as one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

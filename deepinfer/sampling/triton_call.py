"""How a Triton sampler is given its arrays: shared with the interpreter in place, copied to a GPU and back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.rng import triton_impl
from deepinfer.rng.triton_impl import interpreted

__all__ = ["Arrays", "check_device", "check_tensor", "interpreted", "launch"]


def check_device(device: str | None) -> str:
    """The device that kernels run on: `cpu` in the interpreter, else a `cuda` device. None names that one."""
    if not interpreted() and not torch.cuda.is_available():
        raise InputError(
            "backend 'triton' has no GPU here: set TRITON_INTERPRET=1 before triton is imported, "
            "or use backend='native' or 'reference'"
        )
    return triton_impl.check_device(device)


class Arrays:
    """Tensors of one launch on `device` (None: the interpreter's `cpu`, or `cuda`). Use as a context: on leaving it
    without an error, every array given to `output` holds what the kernel stored, and is otherwise as it was."""

    def __init__(self, device: str | None) -> None:
        self.device = torch.device(check_device(device))
        self._outputs: list[tuple[NDArray[Any], torch.Tensor]] = []

    def __enter__(self) -> Arrays:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self.device.type != "cpu":
            for array, tensor in self._outputs:
                array[...] = tensor.cpu().numpy()

    def input(self, array: NDArray[Any] | None) -> torch.Tensor | None:
        """`array` for a kernel that does not write to it; it may be read-only."""
        if array is None:
            return None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def output(self, array: NDArray[Any] | None) -> torch.Tensor | None:
        """`array`, C-contiguous, with its contents, for a kernel that stores into it."""
        if array is None:
            return None
        assert array.flags.c_contiguous and array.flags.writeable
        tensor = torch.from_numpy(array).to(self.device)
        self._outputs.append((array, tensor))
        return tensor


def launch(kernel: Any, programs: int, device: torch.device, *arguments: Any, **options: Any) -> None:
    """Run so many programs of `kernel` on the current stream of `device`; nothing for none."""
    if programs == 0:
        return
    if device.type == "cpu":
        with _quiet_interpreter():
            kernel[(programs,)](*arguments, **options)
    else:
        with torch.cuda.device(device):
            kernel[(programs,)](*arguments, **options)


@contextmanager
def _quiet_interpreter() -> Iterator[None]:
    """The interpreter computes every lane in numpy, masked ones too, and turns 1-element arrays into loop bounds."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check_tensor(
    name: str, value: Any, dtype: torch.dtype, shape: tuple[int, ...] | None, device: torch.device | None
) -> None:
    """Raise InputError unless `value` is a contiguous tensor of this dtype, shape and device (None: any)."""
    if not isinstance(value, torch.Tensor):
        raise InputError(f"{name} is a {type(value).__name__}: give a torch tensor (numpy arrays go through sample())")
    if value.dtype != dtype:
        raise InputError(f"{name} has dtype {value.dtype}: give {dtype} (convert explicitly, rounding is a choice)")
    if shape is not None and tuple(value.shape) != shape:
        raise InputError(f"{name} has shape {tuple(value.shape)}: give {shape}")
    if device is not None and value.device != device:
        raise InputError(f"{name} is on {value.device}: give a tensor on {device}, where the logits are")
    if not value.is_contiguous():
        raise InputError(f"{name} has strides {value.stride()}: give a contiguous tensor (x.contiguous())")

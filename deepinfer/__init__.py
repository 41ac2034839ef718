"""Deterministic sampling whose every bit is specified, and the engine that is built on it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepinfer.sampling.params import SamplingParams

__version__ = "0.1.0"
__all__ = ["SamplingParams", "__version__"]

_LAZY = {"SamplingParams": "deepinfer.sampling.params"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'deepinfer' has no attribute {name!r}")

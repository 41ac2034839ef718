"""The interface of every stream."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError

KINDS = ("words", "uniforms", "normals", "exponentials")


class Stream:
    """Random numbers as one engine makes them, from the facts that the stream was built from.

    Each method gives the values of one call of the engine for `count` elements, beginning where the facts say. A kind
    that an engine does not have is an InputError that lists those it has. Streams are frozen: nothing is consumed.
    """

    def words(self, count: int) -> NDArray[Any]:
        """Unsigned integers, as many bits as the engine draws for one."""
        self._absent("words")

    def uniforms(self, count: int) -> NDArray[np.floating[Any]]:
        """The engine's uniform floats, in its own range."""
        self._absent("uniforms")

    def normals(self, count: int) -> NDArray[np.floating[Any]]:
        """The engine's standard normal floats."""
        self._absent("normals")

    def exponentials(self, count: int) -> NDArray[np.floating[Any]]:
        """The engine's exponential floats of rate 1."""
        self._absent("exponentials")

    def _absent(self, kind: str) -> NoReturn:
        has = [name for name in KINDS if getattr(type(self), name) is not getattr(Stream, name)]
        raise InputError(f"{type(self).__name__} has no {kind}: it has {', '.join(has)}")

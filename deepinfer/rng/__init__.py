"""Random words as a pure function of a key."""

from deepinfer.rng.spec import StreamKey

__all__ = ["StreamKey"]

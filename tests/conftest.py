"""Each test owns its seed (base + hash of its node id), and memory that torch leaves unset is NaN."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Triton reads this once, when it is first imported: kernels run in its interpreter unless a GPU run says otherwise.
os.environ.setdefault("TRITON_INTERPRET", "1")

settings.register_profile("repro", derandomize=True, database=None, print_blob=True, deadline=None)
settings.load_profile("repro")

BASE_SEED = 20_240_611


@pytest.fixture
def rng_seed(request: pytest.FixtureRequest) -> int:
    """A seed of this test alone: adding a test changes no other test's data."""
    digest = hashlib.sha256(request.node.nodeid.encode()).digest()
    return BASE_SEED + int.from_bytes(digest[:4], "little")


@pytest.fixture
def generator(rng_seed: int) -> np.random.Generator:
    return np.random.default_rng(rng_seed)


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of DeepInfer 0.1.0's recorded outputs."""
    return Path(__file__).parents[1] / "harness" / "data" / "deepinfer-0.1.0"


@pytest.fixture(autouse=True)
def poisoned_torch_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """`torch.empty` is filled with NaN (or the largest integer), so that a read of unset memory shows."""
    torch = sys.modules.get("torch")
    if torch is not None:
        plain = torch.empty

        def poisoned(*args: object, **kwargs: object) -> object:
            tensor = plain(*args, **kwargs)
            if tensor.dtype.is_floating_point:
                tensor.fill_(float("nan"))
            elif tensor.dtype is not torch.bool:
                tensor.fill_(torch.iinfo(tensor.dtype).max)
            return tensor

        monkeypatch.setattr(torch, "empty", poisoned)

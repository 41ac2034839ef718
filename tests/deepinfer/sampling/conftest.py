"""What the tests of `exact_sample` share with its bar: hard rows, and results compared bit for bit."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def exact_rows() -> ModuleType:
    """benchmarks/exact_rows.py."""
    path = Path(__file__).parents[3] / "benchmarks" / "exact_rows.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module

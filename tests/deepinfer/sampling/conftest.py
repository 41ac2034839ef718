"""What the samplers' tests share: the hard rows of the bar `exact`, and an interpreter that patches once a launch."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

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


@pytest.fixture(scope="session")
def quick_interpreter() -> Iterator[None]:
    """Triton's interpreter patches its language modules again at every call of a device function, which takes most of a
    run's time and changes nothing: within one launch each set of modules is patched once."""
    interpreter = pytest.importorskip("triton.runtime.interpreter")
    language = pytest.importorskip("triton.language")
    patch, run = interpreter._patch_lang, interpreter.GridExecutor.__call__
    done: dict[tuple[bool, bool], Any] = {}

    def patch_once(fn: Any) -> Any:
        modules = list(fn.__globals__.values())
        names = (any(m is language for m in modules), any(m is language.core for m in modules))
        if names not in done:
            done[names] = patch(fn)
        return done[names]

    def run_anew(self: Any, *arguments: Any, **options: Any) -> Any:
        done.clear()
        return run(self, *arguments, **options)

    with pytest.MonkeyPatch.context() as change:
        change.setattr(interpreter, "_patch_lang", patch_once)
        change.setattr(interpreter.GridExecutor, "__call__", run_anew)
        yield

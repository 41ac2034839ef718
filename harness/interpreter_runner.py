"""Runs in another Python interpreter, by its path: reads IN.safetensors, calls one function, writes OUT.safetensors.

Needs numpy and safetensors there (for bfloat16 and float8 also ml_dtypes), and harness/nested.py beside it; Python 3.9
is enough. Usage: interpreter_runner.py MODULE FUNCTION ROOT FACTS.json [IN.safetensors OUT.safetensors]. ROOT is one
more folder to import from, the last one ("" for none). FACTS.json gets the versions and the function's `outputs`;
without the two files that is all.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import sys
from typing import Any

SHOWN = ("numpy", "safetensors", "ml_dtypes", "torch", "triton", "jax", "deepinfer")
ASKED = "repro.outputs"


def main(module: str, name: str, root: str, facts: str, given: str = "", answer: str = "") -> None:
    nested = _load_nested()
    # This file's folder is no place to import from, and what is installed here goes before the current folder: two
    # packages of one name on the two sides must not meet.
    sys.path[:] = [*sys.path[1:], os.getcwd(), *([root] if root else [])]
    function = getattr(importlib.import_module(module), name)
    outputs = getattr(function, "outputs", ("tokens",))
    if given:
        _answer(nested, function, outputs, given, answer)
    with open(facts, "w", encoding="utf-8") as file:
        json.dump({"python": platform.python_version(), **_versions(), "outputs": list(outputs)}, file)


def _load_nested() -> Any:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nested.py")
    spec = importlib.util.spec_from_file_location("repro_nested", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _versions() -> dict[str, str]:
    """The versions of what is loaded."""
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in SHOWN}
    return {name: str(version) for name, version in loaded.items() if version is not None}


def _answer(nested: Any, function: Any, outputs: Any, given: str, answer: str) -> None:
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(given, framework="numpy") as file:
        inputs: dict[str, Any] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = dict(file.metadata() or {})
    asked = tuple(json.loads(metadata.pop(ASKED)))
    inputs.update({name: json.loads(text) for name, text in metadata.items()})
    returned = function(inputs, asked) if getattr(function, "takes_outputs", False) else function(inputs)
    found = nested.flatten(returned, outputs[0])
    save_file({name: np.array(array, order="C", copy=True) for name, array in found.items()}, answer)


if __name__ == "__main__":
    main(*sys.argv[1:])

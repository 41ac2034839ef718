"""`fused_sample` as a function of a dict of inputs: what `python:/path/to/python` runs where nothing else is named."""

from __future__ import annotations

from typing import Any

from harness.subjects import VERIFY_ANSWERS, SamplerSubject


def fused_sample(inputs: dict[str, Any], outputs: tuple[str, ...]) -> dict[str, Any]:
    """The outputs asked for, on the backend that the input `backend` names."""
    given = dict(inputs)
    return dict(SamplerSubject("fused_sample", given.pop("backend"))(given, outputs).arrays)


fused_sample.outputs = VERIFY_ANSWERS  # type: ignore[attr-defined]
fused_sample.takes_outputs = True  # type: ignore[attr-defined]

"""vLLM V1's rejection sampler: drafts kept by a float64 uniform, the first refused one replaced by a race.

A seeded request draws all its uniforms first (float64, one a draft), then one row of exponential noise for every
replacement. Source: vllm/v1/sample/rejection_sampler.py (0.33.0).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from repro.streams.samplers import cut as cuts
from repro.streams.torch_cpu import TorchCpu
from repro.streams.torch_cuda import TorchCuda

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
ABSENT = -1


@dataclass(frozen=True)
class Verified:
    """`tokens` int64[drafts + 1], -1 after the replacement; `uniforms` float64[drafts]; `close` whether a comparison
    or the replacement's race hangs on the last bits of the probabilities."""

    tokens: NDArray[np.int64]
    uniforms: F64
    close: bool


def verify(
    generator: TorchCpu | TorchCuda, logits: F32, drafts: list[int], bonus: int, draft_probs: F32 | None = None
) -> Verified:
    """One request: final `logits` float32[drafts, V], its generator before the step, the token that follows if all
    drafts stay. `draft_probs` float32[drafts, V]; without them each draft was certain (n-gram, suffix)."""
    count, columns = logits.shape
    uniforms, moved = _uniforms(generator, count)
    noise = moved.exponentials(columns)
    target = cuts.softmax(logits)
    tokens, close = np.full(count + 1, ABSENT), False
    for index, draft in enumerate(drafts):
        proposed = 1.0 if draft_probs is None else float(draft_probs[index, draft])
        ratio = target[index, draft] / proposed if proposed > 0 else 0.0
        close = close or abs(ratio - uniforms[index]) <= 2.0**-20 * ratio
        if proposed > 0 and ratio >= uniforms[index]:
            tokens[index] = draft
            continue
        left = target[index].copy()
        if draft_probs is None:
            left[draft] = 0
        else:
            left = np.maximum(left - draft_probs[index], 0)
        scores = left / noise
        best, second = np.sort(scores)[::-1][:2]
        tokens[index] = int(scores.argmax())
        return Verified(tokens, uniforms, bool(close or best - second <= 2.0**-18 * best))
    tokens[count] = bonus
    return Verified(tokens, uniforms, bool(close))


def _uniforms(generator: TorchCpu | TorchCuda, count: int) -> tuple[F64, TorchCpu | TorchCuda]:
    if isinstance(generator, TorchCpu):
        return generator.doubles(count), generator.after(2 * count)
    drawn: F64 = generator.uniforms(count, "float64")
    return drawn, replace(generator, offset=generator.after(count, 2).offset)

"""Which token an engine would draw, with a certificate of how sure that is.

    replay("vllm_v2", "0.33.0", logits, seed=7, position=12, role="target", precision="float32", top_p=0.9)

Keyed by engine and version; a fact that is missing is an error that says where to find it. `SAMPLERS` lists what is
known.
"""

from __future__ import annotations

from typing import Any

from deepinfer.errors import unknown_name
from repro.streams.samplers.entry import Sampler
from repro.streams.samplers.result import AMBIGUOUS, CERTAIN, EXACT, Replay
from repro.streams.samplers.table import SAMPLERS

__all__ = ["AMBIGUOUS", "CERTAIN", "EXACT", "SAMPLERS", "Replay", "Sampler", "replay", "sampler"]

PARAMETERS = ("temperature", "top_k", "top_p", "min_p")


def replay(engine: str, version: str, rows: Any, **parameters_and_facts: Any) -> Replay:
    """The token of each row of float32[Q, V] logits or probabilities (as the engine's entry says), and its certificate.

    `temperature`, `top_k` (-1: off), `top_p` (1: off), `min_p` (0: off) are the request's; every other keyword is a
    fact of the engine. Scalars are broadcast. Raises InputError for anything missing, unknown or out of range.
    """
    known = sampler(engine)
    parameters = {name: value for name, value in parameters_and_facts.items() if name in PARAMETERS}
    facts = {name: value for name, value in parameters_and_facts.items() if name not in PARAMETERS}
    return known.replay(version, rows, facts, **parameters)


def sampler(engine: str) -> Sampler:
    """What is known of one engine's sampler. Raises InputError if nothing is."""
    for known in SAMPLERS:
        if known.engine == engine:
            return known
    raise unknown_name("sampler", engine, [known.engine for known in SAMPLERS])

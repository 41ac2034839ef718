"""Your kernel on the candidate side: a function from a dict of arrays to tokens.

    repro run --candidate examples.own_kernel:sample --case 'real.*' --out reports/own.repro

The dict holds the fields of `deepinfer.sampling.SamplerInputs`: logits float32[Q, V], temperature, top_p, top_k,
seq_seed, position. Replace the body by a call of your kernel. This one divides by the mass instead of renormalising
in the log domain, so a few tokens differ from the baseline, and the report says why, row by row.
"""

import numpy as np

from deepinfer.sampling import SamplerInputs, draw_tokens
from deepinfer.sampling import sample as baseline


def sample(inputs: dict) -> np.ndarray:
    fields = {name: inputs[name] for name in ("logits", "temperature", "top_p", "top_k", "seq_seed", "position")}
    kept = baseline("two_level", SamplerInputs(**fields), backend="reference").record.kept
    logits = np.where(kept, inputs["logits"], -np.inf)
    scaled = (logits - logits.max(axis=1, keepdims=True)) / np.float32(inputs["temperature"])
    probs = np.exp(scaled, dtype=np.float32)
    probs /= probs.sum(axis=1, keepdims=True)
    return draw_tokens(probs, inputs["seq_seed"], inputs["position"], backend="reference")

"""What could be true instead of a claim: facts, versions, engines, the place in the batch."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

from repro.streams.diagnose.claim import Claim
from repro.streams.diagnose.hypothesis import Variants
from repro.streams.samplers import SAMPLERS, sampler

GPUS = {
    "T4": (40, 1024),
    "L4": (58, 1536),
    "A100": (108, 2048),
    "RTX 4090": (128, 1536),
    "H100 or H200 SXM": (132, 2048),
    "H100 PCIe": (114, 2048),
    "B200": (148, 2048),
}
"""GPU -> (multiprocessors, threads of one)."""
HASHED = ("vllm_v2", "vllm_v2_philox", "sglang")
"""Engines whose noise is a function of (seed, position, column)."""


def versions(claim: Claim) -> Variants:
    for version in sampler(claim.engine).versions:
        if version != claim.version:
            yield f"version {version}", replace(claim, version=version)


def engines(claim: Claim) -> Variants:
    """Another engine whose noise comes from the same seed and position."""
    if claim.engine not in HASHED:
        return
    for known in SAMPLERS:
        if known.engine in HASHED and known.engine != claim.engine:
            request = {name: claim.facts[name] for name in ("seed", "position")}
            chosen = [fact for fact in known.facts if fact.choices]
            for values in product(*(fact.choices for fact in chosen)):
                facts = {fact.name: value for fact, value in zip(chosen, values, strict=True)}
                for version in known.versions:
                    words = ", ".join(f"{name} {value}" for name, value in facts.items())
                    moved = replace(claim, engine=known.engine, version=version, facts={**facts, **request})
                    yield f"engine {known.engine} {version} ({words})", moved


def choices(claim: Claim) -> Variants:
    """Every fact with a few choices, the others of it: role, precision, path, keying, generator, source ..."""
    for fact in sampler(claim.engine).facts:
        for choice in fact.choices:
            if claim.facts.get(fact.name) != choice and fact.name != "given":
                yield f"{fact.name} {choice}", claim.with_facts(**{fact.name: choice})


def seeds(claim: Claim) -> Variants:
    """The seed of a neighbour, of row 0, of nobody."""
    if "seed" not in claim.facts:
        return
    given = claim.values("seed")
    others = {
        "the seed of the row before": given[-1:] + given[:-1],
        "the seed of the row after": given[1:] + given[:1],
        "the seed of row 0 for all rows": given[:1] * len(given),
        "the seeds in reverse order": given[::-1],
        "the seed plus 1": [seed + 1 for seed in given],
        "the seed plus the row": [seed + row for row, seed in enumerate(given)],
        "the lower 32 bits of the seed": [seed & 0xFFFFFFFF for seed in given],
        "the seed as a signed 32-bit number": [(seed & 0xFFFFFFFF) - ((seed & 0x80000000) << 1) for seed in given],
        "seed 42, a server's default": [42] * len(given),
        "seed 0": [0] * len(given),
    }
    for words, changed in others.items():
        if changed != given:
            yield words, claim.with_facts(seed=changed if isinstance(claim.facts["seed"], list) else changed[0])


def steps(claim: Claim) -> Variants:
    """A position, an offset or a count of draws one step off, or the same for every row."""
    advance = {"position": 1, "draws": 1, "offset": 4, "start": 2 * claim.rows.shape[1]}
    for name, unit in advance.items():
        if name not in claim.facts:
            continue
        given = claim.values(name)
        for count in (-2, -1, 1, 2):
            yield f"{name} {count * unit:+d}", _fact(claim, name, [value + count * unit for value in given])
        yield f"{name} 0 for every row", _fact(claim, name, [0] * len(given))
        yield f"{name} counted by row", _fact(claim, name, [unit * row for row in range(len(given))])
        yield f"{name} of row 0 for all rows", _fact(claim, name, given[:1] * len(given))


def offsets_in_other_units(claim: Claim) -> Variants:
    """An offset taken for blocks of four words, or for words where blocks were meant."""
    if "offset" in claim.facts:
        given = claim.values("offset")
        yield "the offset times 4", _fact(claim, "offset", [4 * value for value in given])
        yield "a quarter of the offset", _fact(claim, "offset", [value // 16 * 4 for value in given])


def survivors_without_a_draw(claim: Claim) -> Variants:
    """Rows are steps of one request, and a step with one candidate drew nothing."""
    if claim.engine != "llama_cpp":
        return
    kept = sampler(claim.engine).replay(claim.version, claim.rows, claim.facts, **claim.parameters).kept
    assert kept is not None
    singles = (kept.sum(axis=1) == 1).tolist()
    given, before = claim.values("draws"), 0
    changed = []
    for draws, single in zip(given, singles, strict=True):
        changed.append(draws - before)
        before += single
    yield "steps with one candidate draw nothing", claim.with_facts(draws=changed)


def gpus(claim: Claim) -> Variants:
    if "sm_count" not in claim.facts:
        return
    for name, (sms, threads) in GPUS.items():
        if (sms, threads) != (claim.facts["sm_count"], claim.facts["threads_per_sm"]):
            yield f"GPU {name}", claim.with_facts(sm_count=sms, threads_per_sm=threads)


def batches(claim: Claim) -> Variants:
    """Each row was a batch of its own; other rows stood before these."""
    if claim.whole_batch:
        yield "each row alone in its batch", replace(claim, alone=True)
        for skip in (1, 2, 4, 8, 16, 32):
            yield f"{skip} more rows in front", replace(claim, skip=skip)


def _fact(claim: Claim, name: str, values: list[Any]) -> Claim:
    return claim.with_facts(**{name: values if isinstance(claim.facts[name], (list, tuple)) else values[0]})

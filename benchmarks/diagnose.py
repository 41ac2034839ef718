"""Bar `diagnose`: planted mix-ups whose true cause is named, and no wrong one called certain.

Tokens are replayed under one assumption (or two) that differs from the claim; real rows, 48 of them. A plant counts
when the first finding that explains every row names what was planted, alone or with changes that give the same tokens.
Controls: independent draws, which nothing may explain; a claim that is true.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from repro.environment import facts as environment
from repro.streams.diagnose import Claim, Diagnosis, diagnose
from repro.streams.samplers import replay
from repro.streams.torch_values import rounded

ROOT = Path(__file__).parents[1]
NEEDED = 28
ROWS = 48
GPU = {"sm_count": 132, "threads_per_sm": 2048}
B = {"temperature": 0.8, "top_k": 50, "top_p": 0.9}


@dataclass(frozen=True)
class Plant:
    """The claim, how the tokens really came about, and words of the change that says so."""

    claim: Claim
    truth: Claim
    words: str


def drawn(claim: Claim) -> list[int]:
    """Tokens of a claim."""
    return claim.explains([0] * len(claim.rows))[1]


def softmax(rows: Any) -> Any:
    powers = np.exp((rows - rows.max(axis=1, keepdims=True)).astype(np.float64))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def plants(rows: int) -> dict[str, Plant]:
    """Name -> plant, over `rows` real rows."""
    with np.load(ROOT / "harness" / "data" / "deepinfer-0.1.0" / "real.npz") as file:
        logits = file["logits"][64 : 64 + rows]
    draw = np.random.default_rng(20240611)
    seeds, places = draw.integers(0, 2**40, rows).tolist(), draw.integers(0, 100000, rows).tolist()
    small = [seed & 0xFFFFFFFF for seed in seeds]
    hashed = {"seed": seeds, "position": places}
    v2 = Claim("vllm_v2", "0.33.0", logits, {}, {**hashed, "role": "target", "precision": "float32"})
    v2b = replace(v2, parameters=B)
    tied = replace(v2b, rows=np.round(logits * 2) / np.float32(2), parameters={"top_k": 8})
    sglang = Claim("sglang", "0.5.23", logits, {}, {**hashed, "path": "id"})
    own = {"seed": seeds, "offset": [4 * i for i in range(rows)], "generator": "request", **GPU}
    v1 = Claim("vllm_v1_cuda", "0.33.0", logits, {}, own)
    together = v1.with_facts(seed=5, offset=0, generator="batch")
    v1_cpu = Claim("vllm_v1_cpu", "0.33.0", logits, B, {"seed": seeds, "start": 8192, "generator": "request"})
    hf = Claim("huggingface_cpu", "5.24.0", logits, B, {"seed": 1234, "start": 0})
    call = {"seed": 5, "offset": 64, "source": "generator", "call": "from_probs", "given": "logits", "capability": 9}
    flashinfer = Claim("flashinfer", "0.6.1", softmax(logits), {}, call)
    joint = flashinfer.with_facts(call="top_k_top_p").with_parameters(top_k=50, top_p=0.9)
    llama = Claim("llama_cpp", "0.3.36", logits, B, {"seed": small, "draws": 3, "chain": "temperature last"})
    steps = llama.with_parameters(top_k=2, top_p=0.7).with_facts(seed=7, draws=list(range(rows)))
    numpy = Claim("numpy", "2.4.6", softmax(logits), {}, {"seed": seeds, "draws": 0, "bit_generator": "pcg64"})
    key = {"impl": "threefry2x32", "seed": small, "partitionable": True, "x64": False, "mode": "low", "keying": "row"}
    jax = Claim("jax", "0.10.2", logits, {}, key)
    t4 = {"sm_count": 40, "threads_per_sm": 1024}
    survivors = replay("llama_cpp", "0.3.36", logits, **steps.parameters, **steps.facts).kept
    assert survivors is not None
    before = np.concatenate([[0], np.cumsum(survivors.sum(axis=1) == 1)[:-1]])
    return {
        "draft noise": Plant(v2, v2.with_facts(role="draft"), "role draft"),
        "float64 noise": Plant(v2, v2.with_facts(precision="float64"), "precision float64"),
        "older version": Plant(v2, _philox(v2, "0.22.0"), "vllm_v2_philox 0.22.0"),
        "oldest version": Plant(v2b, _philox(v2b, "0.20.0"), "vllm_v2_philox 0.20.0"),
        "another engine": Plant(v2, _engine(v2, sglang), "engine sglang"),
        "seed of the row before": Plant(v2, v2.with_facts(seed=seeds[-1:] + seeds[:-1]), "seed of the row before"),
        "seed of row 0": Plant(v2b, v2b.with_facts(seed=seeds[:1] * rows), "seed of row 0"),
        "seed cut to 32 bits": Plant(v2, v2.with_facts(seed=small), "lower 32 bits"),
        "position one late": Plant(v2b, v2b.with_facts(position=[p + 1 for p in places]), "position +1"),
        "position one early": Plant(v2, v2.with_facts(position=[p - 1 for p in places]), "position -1"),
        "ties kept": Plant(tied, _masked(tied), "every tie of the k-th value kept"),
        "temperature forgotten": Plant(v2b, v2b.with_parameters(temperature=1.0), "temperature not applied"),
        "top-p forgotten": Plant(v2b, v2b.with_parameters(top_p=1.0), "top_p not applied"),
        "bfloat16 rows": Plant(v2, replace(v2, rows=rounded(logits, "bfloat16")), "rounded to bfloat16"),
        "rank for id": Plant(sglang, sglang.with_facts(path="rank"), "path rank"),
        "SGLang seeds by default": Plant(sglang, sglang.with_facts(seed=42), "seed 42"),
        "one step ahead": Plant(v1, v1.with_facts(offset=[4 * i + 4 for i in range(rows)]), "offset +4"),
        "batch for request": Plant(v1.with_facts(seed=5, offset=0), together, "generator batch"),
        "T4 for H200": Plant(together, together.with_facts(**t4), "GPU T4"),
        "CPU generator one row back": Plant(v1_cpu, v1_cpu.with_facts(start=0), "start"),
        "rows alone": Plant(hf, replace(hf, alone=True), "each row alone"),
        "rows in front": Plant(hf, replace(hf, skip=2), "2 more rows in front"),
        "offset before the advance": Plant(joint, replace(joint, version="0.7.4"), "version 0.7.4"),
        "explicit offset": Plant(flashinfer, flashinfer.with_facts(source="explicit"), "source explicit"),
        "chain order": Plant(llama, llama.with_facts(chain="temperature first"), "chain temperature first"),
        "draw behind": Plant(llama, llama.with_facts(draws=2), "draws -1"),
        "one-survivor steps": Plant(
            steps, steps.with_facts(draws=[i - int(before[i]) for i in range(rows)]), "one candidate draw nothing"
        ),
        "another bit generator": Plant(numpy, numpy.with_facts(bit_generator="philox"), "bit_generator philox"),
        "mode high": Plant(jax, jax.with_facts(mode="high"), "mode high"),
        "old threefry path": Plant(jax, jax.with_facts(partitionable=False), "partitionable False"),
        "one key for the batch": Plant(jax, jax.with_facts(keying="batch"), "keying batch"),
        "neighbour and position": Plant(
            v2, v2.with_facts(seed=seeds[1:] + seeds[:1], position=[p + 1 for p in places]), "position +1"
        ),
    }


def _philox(claim: Claim, version: str) -> Claim:
    return replace(claim, engine="vllm_v2_philox", version=version)


def _engine(claim: Claim, other: Claim) -> Claim:
    return replace(claim, engine=other.engine, version=other.version, facts=other.facts)


def _masked(claim: Claim) -> Claim:
    """The claim with every tie of the k-th largest value kept."""
    k = int(claim.parameters["top_k"])
    edge = -np.sort(-claim.rows, axis=1)[:, k - 1][:, None]
    return replace(claim, rows=np.where(claim.rows < edge, np.float32(-np.inf), claim.rows), parameters={})


def outcome(found: Diagnosis, words: str) -> str:
    """named: the first finding that explains every row says so; wrong: it says something else and is settled."""
    whole = [finding for finding in (*found.singles, *found.pairs) if finding.whole]
    if not whole:
        return "missed"
    if any(words in change for change in whole[0].changes):
        return "named"
    return "wrong" if whole[0].settled else "missed"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every third plant")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(argv)
    made = list(plants(ROWS).items())[:: 3 if given.quick else 1]
    started, outcomes, lines = time.perf_counter(), {}, {}
    for name, plant in made:
        found = diagnose(plant.claim, drawn(plant.truth))
        outcomes[name] = outcome(found, plant.words)
        lines[name] = {"claim": f"{found.claim.explained}/{found.claim.rows}", "tried": found.tried}
        whole = [finding for finding in (*found.singles, *found.pairs) if finding.whole]
        if whole:
            lines[name] |= {"first": " = ".join(whole[0].changes), "false match": whole[0].false_match}
            lines[name] |= {"settled": whole[0].settled, "others that explain every row": len(whole) - 1}
        print(f"{outcomes[name]:<7} {name}: {lines[name]}", flush=True)
    control = next(plant.claim for name, plant in made if name == "draft noise")
    random = np.random.default_rng(1)
    independent = [int(random.choice(4096, p=row / row.sum())) for row in softmax(control.rows).astype(np.float64)]
    check = {
        "named": sum(value == "named" for value in outcomes.values()),
        "plants": len(made),
        "wrong": sum(value == "wrong" for value in outcomes.values()),
        "independent draws explained": len(diagnose(control, independent).causes),
        "a true claim is whole": int(diagnose(control, drawn(control)).claim.whole),
    }
    needed = NEEDED * len(made) / 30
    green = (
        check["named"] >= min(needed, len(made))
        and not check["wrong"]
        and not check["independent draws explained"]
        and check["a true claim is whole"] == 1
    )
    print(check, "green" if green else "red")
    seconds = time.perf_counter() - started
    record = {
        "bar": "diagnose",
        "check": {**check, "green": green},
        "ratios": {},
        "figures": {"seconds": round(seconds, 1), **lines} if green else lines,
        "environment": environment(),
    }
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())

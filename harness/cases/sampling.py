"""The suite `sampling`: samplers against DeepInfer 0.1.0's recorded outputs, and against each other.

A case is called KIND/CONFIG/CANDIDATE-vs-BASELINE: `real/k50p.9/fused_sample-vs-deepinfer-0.1.0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from harness import recorded
from harness.case import Case, Floor
from harness.cases import study
from harness.rules import Rule, agreement, bitwise, same_set, tolerance, ulp
from harness.subjects import (
    AnsweringSubject,
    DrawSubject,
    SamplerSubject,
    parse_subject,
    recorded_subject,
)

RECORDED = f"recorded:{recorded.RECORDING}"
PAIRS = (("two_level", RECORDED), ("fused_sample", RECORDED), ("fused_sample", "two_level"))
"""(candidate, baseline) of the fresh kinds; the last one on the real rows only."""
SLOW_BACKENDS = ("reference",)
SLOW_ROWS = 32

NOTES = {
    "normal3_129280": "the first 8 of the 64 recorded rows, as their logits are large",
    "bf16_full": "bf16 logits of the whole vocabulary: most cuts fall on exact ties",
    "zeros": "-0 in even columns, +0 in odd ones: every column ties with every other",
    "verify": "the verified rows of the recorded call",
    "verify_fresh": "the rows without a draft of the recorded call",
    "penalty_residual": "a finding, not a gate: 4095 equal residuals of 26 or 27 units of 2^-31, and one ULP of a"
    " log-probability decides which; with the log-probabilities one ULP higher all 24 tokens agree",
    "random_sampling_129280": "36 rows: 32 with 12 columns each, 4 dense",
}


@dataclass(frozen=True)
class Bounds:
    """What a kind's rows can prove: the raw floor of each configuration, and the least share of equal kept sets."""

    raw: dict[str, float]
    kept: float


# A floor is proven when the exact one-sided lower bound reaches it, so it lies below the rate by what the rows leave
# open: of 250 rows, 250 equal prove .988, 245 prove .959, 228 prove .879, 221 prove .844; of 64, 64 prove .954 and 56
# prove .787; of 8, 8 prove .688 and 7 prove .529. The rates of the fp64-summed twin are .97-1 without a narrow cut and
# .88-.93 under one; sums in another order cost up to 5 points more. Each floor leaves room for two more rows in 100.
MANY = Bounds({"engine": 0.8, "narrow": 0.8, "nofilter": 0.9, "k50p.9": 0.8, "k1": 0.97, "greedyish": 0.9}, kept=0.99)
WIDE = Bounds({"engine": 0.7, "narrow": 0.65, "nofilter": 0.85, "k50p.9": 0.65}, kept=0.85)
FEW = Bounds(dict.fromkeys(recorded.CONFIGS, 0.4), kept=0.85)
BOUNDS = dict.fromkeys(recorded.FRESH_KINDS, MANY) | {"bf16_full": WIDE, "normal3_129280": FEW}


def cases(*, baseline: str | None = None, candidate: str | None = None, backend: str) -> list[Case]:
    """Every case, in the order of the report. With a side given, the fresh kinds against the recording, that side
    replaced; only what both sides answer is compared, and the notes name the rest."""
    if baseline is not None or candidate is not None:
        pair = candidate or "fused_sample", baseline or RECORDED
        return [_fresh(kind, config, *pair, backend) for kind, config in _fresh_cases()]
    found = [_fresh("real", config, *pair, backend) for pair in PAIRS for config in recorded.configs("real")]
    found += [
        _fresh(kind, config, *pair, backend) for pair in PAIRS[:2] for kind, config in _fresh_cases() if kind != "real"
    ]
    found += [_exact(config, backend) for config in recorded.configs("real") if backend not in SLOW_BACKENDS]
    found += [_draw(kind, config, backend) for kind in recorded.DRAW_KINDS for config in recorded.configs(kind)]
    found += [_verify(kind, config, backend) for kind in recorded.VERIFY_KINDS for config in recorded.configs(kind)]
    return found + study.cases(backend)


def _fresh_cases() -> list[tuple[str, str]]:
    return [(kind, config) for kind in recorded.FRESH_KINDS for config in recorded.configs(kind)]


def _fresh(kind: str, config: str, candidate: str, baseline: str, backend: str) -> Case:
    """Fresh tokens from logits: draws by agreement, kept columns as sets, log-probabilities in ULP."""
    side_a, side_b = (parse_subject(text, backend=backend, entry=(kind, config)) for text in (baseline, candidate))
    bounds = BOUNDS[kind]
    rules: dict[str, Rule] = {
        "tokens": agreement(),
        "kept": same_set(bounds.kept),
        "kept_count": bitwise(),
        "lse": ulp(8, at_least=1.0),
        "logprobs": ulp(2, at_least=1.0),
        "logprobs8": ulp(2, at_least=1.0),
    }
    return _case(
        f"{kind}/{config}/{_label(candidate)}-vs-{_label(baseline)}",
        (kind, config),
        side_a,
        side_b,
        rules,
        Floor(bounds.raw[config]),
        slow=backend in SLOW_BACKENDS,
    )


def _exact(config: str, backend: str) -> Case:
    """`exact_sample` on numpy and on `backend`: the same bits."""
    sides = SamplerSubject("exact_sample", "reference"), SamplerSubject("exact_sample", backend)
    rules: dict[str, Rule] = {"tokens": bitwise(), "kept": bitwise(), "logprobs": bitwise()}
    return _case(f"real/{config}/exact_sample-{backend}-vs-reference", ("real", config), *sides, rules, slow=True)


def _draw(kind: str, config: str, backend: str) -> Case:
    """The integer sampler alone: probabilities given, tokens bit for bit."""
    sides = recorded_subject(recorded.RECORDING, kind, config), DrawSubject(backend)
    rules: dict[str, Rule] = {"tokens": bitwise()}
    return _case(f"{kind}/{config}/draw_tokens-vs-{recorded.RECORDING}", (kind, config), *sides, rules)


def _verify(kind: str, config: str, backend: str) -> Case:
    """Speculative verification. Residual totals stay away from the step, so verified rows are held to every bit; the
    rows without a draft are fresh draws, and `penalty_residual` measures what one ULP does (see NOTES)."""
    sides = recorded_subject(recorded.RECORDING, kind, config), SamplerSubject("fused_sample", backend)
    rules: dict[str, Rule] = {
        "tokens": bitwise() if kind == "verify" else agreement(),
        "accept": bitwise(),
        "accept_prob": tolerance(0.0, 5e-6 if kind == "penalty_residual" else 1e-6),
        "draft_selected": bitwise(),
    }
    floor = {"verify_fresh": Floor(WIDE.raw[config]), "penalty_residual": Floor(0.15, residual=0.0)}.get(kind)
    name = f"{kind}/{config}/fused_sample-vs-{recorded.RECORDING}"
    return _case(name, (kind, config), *sides, rules, floor)


def _case(
    name: str,
    entry: tuple[str, str],
    baseline: AnsweringSubject,
    candidate: AnsweringSubject,
    rules: dict[str, Rule],
    floor: Floor | None = None,
    *,
    slow: bool = False,
) -> Case:
    """A case with the rules that both sides can answer; each is compared once, in its most telling form."""
    both = [output for output in rules if output in baseline.answers and output in candidate.answers]
    for telling, lesser in (("kept", "kept_count"), ("logprobs", "logprobs8")):
        if telling in both and lesser in both:
            both.remove(lesser)
    notes = [NOTES[entry[0]]] if entry[0] in NOTES else []
    for side, subject in (("baseline", baseline), ("candidate", candidate)):
        lacking = [
            output for output in ("tokens", "kept", "logprobs") if output in rules and output not in subject.answers
        ]
        if lacking:
            notes.append(f"not compared in full: the {side} does not answer {', '.join(lacking)}")
    return Case(
        name=name,
        inputs=partial(recorded.load_inputs, *entry),
        rules={output: rules[output] for output in both},
        baseline=baseline,
        candidate=candidate,
        floor=floor,
        notes=tuple(notes),
        self_rows=SLOW_ROWS if slow else None,
    )


def _label(text: str) -> str:
    """A subject's name within a case's name: the sampler, the recording or its file, the function."""
    head, _, rest = text.partition(":")
    return PurePath(rest).stem if head == "recorded" and rest != recorded.RECORDING else rest or head

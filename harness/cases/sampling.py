"""The suite `sampling`: samplers against DeepInfer 0.1.0's recorded outputs, and against each other.

A case is called KIND/CONFIG/CANDIDATE-vs-BASELINE: `real/k50p.9/fused_sample-vs-deepinfer-0.1.0`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath

from harness import recorded
from harness.case import Case, Floor
from harness.cases import study
from harness.rules import Rule, agreement, bitwise, same_set, tolerance, ulp
from harness.subject_names import parse_subject
from harness.subjects import (
    AnsweringSubject,
    DrawSubject,
    SamplerSubject,
    recorded_subject,
)

RECORDED = f"recorded:{recorded.RECORDING}"
PAIRS = (("two_level", RECORDED), ("fused_sample", RECORDED), ("fused_sample", "two_level"))
"""(candidate, baseline) of the fresh kinds; the last one on the real rows only."""
TELLING = ("tokens", "kept", "logprobs")
"""Outputs that a full comparison has."""
LOGPROB = ulp(2, at_least=1.0)
LSE = ulp(8, at_least=1.0)
"""lse0 before renormalisation, and log-probabilities where nothing is cut, keep the rounding of a whole float32 sum (7
ULP seen); renormalisation cancels it."""
SLOW_BACKENDS = ("reference",)
SLOW_ROWS = 8
EXACT_CONFIGS = ("engine", "narrow", "nofilter", "k50p.9")

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


FINDINGS = {"penalty_residual": "a finding, not a gate: only the accepted drafts are equal"}


@dataclass(frozen=True)
class Bounds:
    """What a kind's rows can prove: the raw floor of each configuration, and the least share of equal kept sets."""

    raw: dict[str, float]
    kept: float


# A floor is proven when the exact one-sided lower bound reaches it, so it lies below the rate by what the rows leave
# open. Of 250 rows, 250 equal prove .988, 245 prove .959, 231 prove .890, 215 prove .819; of 64, 64 prove .954 and 56
# prove .787; of 8, 8 prove .688 and 7 prove .529. A floor is the bound of the worst rate measured over the two samplers
# and two backends, less two points. Engine and narrow on the real rows leave room for sequential float32 sums (91.6 %);
# k1 keeps one column and needs no room.
#
#             real               other, 250 rows     bf16, 64 rows    129280 columns, 8 rows
# engine      245/250 -> .85     224/256 -> .80      62/64 -> .85     8/8 -> .40
# narrow      242/250 -> .85     229/256 -> .80      57/64 -> .75     7/8 -> .40
# nofilter    250/250 -> .95     244/256 -> .88      64/64 -> .92     8/8 -> .40
# k50p.9      231/250 -> .85     215/250 -> .75      56/64 -> .75     8/8 -> .40
# k1          250/250 -> .97     250/250 -> .97                       8/8 -> .40
# greedyish   250/250 -> .95     239/250 -> .88                       8/8 -> .40
REAL = Bounds(
    {"engine": 0.85, "narrow": 0.85, "nofilter": 0.95, "k50p.9": 0.85, "k1": 0.97, "greedyish": 0.95}, kept=0.99
)
MANY = Bounds(
    {"engine": 0.8, "narrow": 0.8, "nofilter": 0.88, "k50p.9": 0.75, "k1": 0.97, "greedyish": 0.88}, kept=0.99
)
WIDE = Bounds({"engine": 0.85, "narrow": 0.75, "nofilter": 0.92, "k50p.9": 0.75}, kept=0.85)
FEW = Bounds(dict.fromkeys(recorded.CONFIGS, 0.4), kept=0.85)
BOUNDS = dict.fromkeys(recorded.FRESH_KINDS, MANY) | {"real": REAL, "bf16_full": WIDE, "normal3_129280": FEW}
VERIFY_FRESH = {"engine": 0.75, "narrow": 0.75, "nofilter": 0.92}
"""74 rows of 1024 columns: 66, 65 and 74 equal."""


def cases(*, baseline: str | None = None, candidate: str | None = None, backend: str) -> list[Case]:
    """Every case, in the order of the report. With a side given, the fresh kinds against the recording, that side
    replaced; only what both sides answer is compared, and the notes name the rest."""
    make = _Maker(backend, recorded.Library())
    if baseline is not None or candidate is not None:
        pair = "fused_sample" if candidate is None else candidate, RECORDED if baseline is None else baseline
        return [make.fresh(kind, config, *pair) for kind in recorded.FRESH_KINDS for config in recorded.configs(kind)]
    found = []
    for kind in recorded.FRESH_KINDS:
        pairs = PAIRS if kind == "real" else PAIRS[:2]
        found += [make.fresh(kind, config, *pair) for pair in pairs for config in recorded.configs(kind)]
        if kind == "real":
            found += study.cases(backend, make.library)
            found += [make.exact(config) for config in EXACT_CONFIGS if backend not in SLOW_BACKENDS]
    found += [make.draw(kind, config) for kind in recorded.DRAW_KINDS for config in recorded.configs(kind)]
    found += [make.verify(kind, config) for kind in recorded.VERIFY_KINDS for config in recorded.configs(kind)]
    return found


@dataclass(frozen=True)
class _Maker:
    """Makes the cases of one suite: its backend, and the inputs that its cases share."""

    backend: str
    library: recorded.Library

    def fresh(self, kind: str, config: str, candidate: str, baseline: str) -> Case:
        """Fresh tokens from logits: draws by agreement, kept columns as sets, log-probabilities in ULP."""
        first, second = (
            parse_subject(text, backend=self.backend, entry=(kind, config)) for text in (baseline, candidate)
        )
        bounds = BOUNDS[kind]
        whole = config == "nofilter"
        rules: dict[str, Rule] = {
            "tokens": agreement(),
            "kept": same_set(bounds.kept),
            "kept_count": bitwise(),
            "lse": LSE,
            "logprobs": LSE if whole else LOGPROB,
            "logprobs8": LOGPROB,
        }
        name = f"{kind}/{config}/{_label(candidate)}-vs-{_label(baseline)}"
        case = self._case(name, (kind, config), first, second, rules, Floor(bounds.raw[config]))
        live = isinstance(first, SamplerSubject) and isinstance(second, SamplerSubject)
        return replace(case, grow=partial(self.library.grown, kind, config)) if live else case

    def exact(self, config: str) -> Case:
        """`exact_sample` on numpy and on the suite's backend: the same bits."""
        sides = SamplerSubject("exact_sample", "reference"), SamplerSubject("exact_sample", self.backend)
        rules: dict[str, Rule] = {"tokens": bitwise(), "kept": bitwise(), "logprobs": bitwise()}
        name = f"real/{config}/exact_sample-{self.backend}-vs-reference"
        return self._case(name, ("real", config), *sides, rules, self_rows=SLOW_ROWS)

    def draw(self, kind: str, config: str) -> Case:
        """The integer sampler alone: probabilities given, tokens bit for bit."""
        sides = recorded_subject(recorded.RECORDING, kind, config), DrawSubject(self.backend)
        name = f"{kind}/{config}/draw_tokens-vs-{recorded.RECORDING}"
        return self._case(name, (kind, config), *sides, {"tokens": bitwise()})

    def verify(self, kind: str, config: str) -> Case:
        """Speculative verification. Residual totals stay away from the step, so verified rows are held to every bit;
        the rows without a draft are fresh draws, and `penalty_residual` measures what one ULP does (see NOTES)."""
        sides = recorded_subject(recorded.RECORDING, kind, config), SamplerSubject("fused_sample", self.backend)
        rules: dict[str, Rule] = {
            "tokens": bitwise() if kind == "verify" else agreement(),
            "accept": bitwise(),
            "accept_prob": tolerance(0.0, 5e-6 if kind == "penalty_residual" else 1e-6),
            "draft_selected": bitwise(),
        }
        floor = {"verify_fresh": Floor(VERIFY_FRESH[config]), "penalty_residual": Floor(0.15, residual=0.0)}.get(kind)
        name = f"{kind}/{config}/fused_sample-vs-{recorded.RECORDING}"
        return self._case(name, (kind, config), *sides, rules, floor)

    def _case(
        self,
        name: str,
        entry: tuple[str, str],
        baseline: AnsweringSubject,
        candidate: AnsweringSubject,
        rules: Mapping[str, Rule],
        floor: Floor | None = None,
        self_rows: int | None = None,
    ) -> Case:
        """A case with the rules that both sides can answer; each thing is compared once, in its most telling form."""
        both = [output for output in rules if output in baseline.answers and output in candidate.answers]
        for telling, lesser in (("kept", "kept_count"), ("logprobs", "logprobs8")):
            if telling in both and lesser in both:
                both.remove(lesser)
        notes = [NOTES[entry[0]]] if entry[0] in NOTES else []
        for side, subject in (("baseline", baseline), ("candidate", candidate)):
            lacking = [name for name in TELLING if name in rules and name not in subject.answers]
            if lacking:
                notes.append(f"not compared in full: the {side} does not answer {', '.join(lacking)}")
        return Case(
            name=name,
            inputs=partial(self.library.inputs, *entry),
            rules={output: rules[output] for output in both},
            baseline=baseline,
            candidate=candidate,
            floor=floor,
            notes=tuple(notes),
            self_rows=SLOW_ROWS if self.backend in SLOW_BACKENDS else self_rows,
            finding=FINDINGS.get(entry[0], ""),
        )


def _label(text: str) -> str:
    """A subject's name within a case's name: the sampler, the recording or its file, the function."""
    head, _, rest = text.partition(":")
    return PurePath(rest).stem if head == "recorded" and rest != recorded.RECORDING else rest or head

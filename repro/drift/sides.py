"""What is known of each side of a case, and whose weights the analysis works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError
from deepinfer.rng.spec import FRESH, request_subsequences
from deepinfer.sampling import SampleResult, SamplerInputs, checks, draw_tokens, sample
from deepinfer.sampling.params import Plan, prepare
from deepinfer.sampling.reference import weights_of
from deepinfer.sampling.result import Record
from harness.case import Inputs, Outputs, Subject
from harness.subjects import RecordedSubject
from repro.drift.contract import REFERENCE, Arithmetic, arithmetic_of, arithmetic_of_order
from repro.drift.draws import EXACT

Array = NDArray[Any]
Mask = NDArray[np.bool_]
I64 = NDArray[np.int64]
SideName = Literal["baseline", "candidate"]
OPTIONS = ("draw", "numbering", "filter_order", "min_p")


@dataclass(frozen=True)
class Model:
    """Whose weights are kept while something else is substituted. Arrays have one entry a row.

    `owner` is a side's name, or `reference` where no side has a record. `draw` is a rule of `sample`, or EXACT. `drew`
    are the rows that drew at all (not greedy, not an accepted draft), `fresh` those that drew from the softmax itself
    (not from the residual of a draft). `lse` float32[Q, 2] and `lse0` float32[Q] are as
    in a Record. `renumbered` uint64[Q] are the subsequences of the other numbering, where it gives others. `plan` is
    None where probabilities were given; then nothing about the weights is uncertain.
    """

    owner: str
    arithmetic: Arithmetic
    draw: str
    seeds: NDArray[np.uint64]
    subsequences: NDArray[np.uint64]
    drew: Mask
    fresh: Mask
    kept: Mask
    weights: Array
    tokens: I64
    lse: NDArray[np.float32]
    lse0: NDArray[np.float32]
    plan: Plan | None
    renumbered: NDArray[np.uint64] | None = None


@dataclass(frozen=True)
class Side:
    """One side: its tokens int64[Q], and what it tells of each row; None where it does not.

    `kept` bool[Q, V], `kept_count` int64[Q], `lse` float32[Q, 2], `lse0` float32[Q], `draw`; `total` int64[Q]
    where its record is there and draws by the model's rule.
    """

    name: SideName
    tokens: I64
    arithmetic: Arithmetic
    kept: Mask | None = None
    kept_count: I64 | None = None
    lse: NDArray[np.float32] | None = None
    lse0: NDArray[np.float32] | None = None
    draw: str | None = None
    total: I64 | None = None


def model_of(inputs: Inputs, baseline: Outputs, candidate: Outputs, backend: str) -> Model | None:
    """The candidate's record, else the baseline's, else our own row on `backend`; None where the inputs are no
    sampler's."""
    for owner, outputs in (("candidate", candidate), ("baseline", baseline)):
        result = outputs.evidence
        if isinstance(result, SampleResult) and result.record.weights is not None:
            return _from_result(owner, result, inputs)
    if "probs" in inputs:
        return _from_probs(inputs, backend)
    if "logits" not in inputs:
        return None
    name = "two_level" if inputs.get("is_verify") is None else "fused_sample"
    options = {option: inputs[option] for option in OPTIONS if option in inputs}
    ours = sample(name, _sampler_inputs(inputs), backend=backend, on_error="mask", **options)
    return _from_result("reference", ours, inputs)


def side_of(name: SideName, subject: Subject, inputs: Inputs, outputs: Outputs, tokens: Array, model: Model) -> Side:
    """What is known of one side whose drawn output is `tokens`. A recording is asked for everything that it holds; a
    side without a record is taken to draw by the rule that the inputs name."""
    arrays: Mapping[str, Array] = outputs.arrays
    if isinstance(subject, RecordedSubject) and not {"lse", "kept"} <= set(arrays):
        arrays = {**subject.load(), **arrays}
    shapes = {"kept": model.weights.shape, "kept_count": tokens.shape, "lse": (*tokens.shape, 2)}
    fitting = {name: arrays[name] for name, shape in shapes.items() if name in arrays and arrays[name].shape == shape}
    told: dict[str, Any] = {name: fitting.get(name) for name in shapes}
    told["draw"] = inputs.get("draw")
    order = None
    if isinstance(outputs.evidence, SampleResult):
        record = outputs.evidence.record
        order = record.order
        told |= {"lse": record.lse, "lse0": record.lse0, "draw": _draw_rule(record)}
        if record.kept is not None:
            told["kept"] = record.kept
        if _draw_rule(record) == model.draw:
            told["total"] = record.total.astype(np.int64)
    if told["kept"] is not None:
        told["kept_count"] = np.count_nonzero(told["kept"], axis=1)
    if told["kept_count"] is not None:
        told["kept_count"] = told["kept_count"].astype(np.int64)
    return Side(name, tokens.astype(np.int64), arithmetic_of(subject, order), **told)


def _draw_rule(record: Record) -> str:
    return EXACT if record.sampler == "exact_sample" else record.draw


def _sampler_inputs(inputs: Inputs) -> SamplerInputs:
    names = {field.name for field in dataclass_fields(SamplerInputs)}
    return SamplerInputs(**{name: value for name, value in inputs.items() if name in names})


def _from_result(owner: str, result: SampleResult, inputs: Inputs) -> Model:
    record = result.record
    assert record.kept is not None and record.weights is not None
    plan = prepare(
        record.sampler,
        _sampler_inputs(inputs),
        draw=record.draw,
        numbering=record.numbering,
        filter_order=record.filter_order,
        min_p=inputs.get("min_p"),
        on_error="mask",
    )
    return Model(
        owner=owner,
        arithmetic=arithmetic_of_order(record.order),
        draw=_draw_rule(record),
        seeds=record.seeds,
        subsequences=record.subsequences,
        drew=record.word_count > 0,
        fresh=(record.word_count > 0) & (record.purpose == FRESH),
        kept=record.kept,
        weights=record.weights,
        tokens=result.tokens.astype(np.int64),
        lse=record.lse,
        lse0=record.lse0,
        plan=plan,
        renumbered=_renumbered(record, inputs),
    )


def _renumbered(record: Record, inputs: Inputs) -> NDArray[np.uint64] | None:
    """The rows' subsequences under the other numbering; None where they are the same or it refuses the positions."""
    if inputs.get("block_base") is None:
        return None
    rows = len(record.seeds)
    position, base, step = (
        checks.integers(name, checks.column(name, inputs.get(name, 0), rows))
        for name in ("position", "block_base", "block_row")
    )
    other = "absolute" if record.numbering == "deepinfer" else "deepinfer"
    try:
        found = request_subsequences(position, FRESH, other, base, step) + record.purpose.astype(np.uint64)
    except InputError:
        return None
    return None if np.array_equal(found, record.subsequences) else found


def _from_probs(inputs: Inputs, backend: str) -> Model:
    """The integer sampler alone: probabilities in, and the same integer weights on every side."""
    probs = inputs["probs"]
    rows = len(probs)
    position = checks.integers("position", checks.column("position", inputs["position"], rows))
    numbering = inputs.get("numbering", "absolute")
    weights = weights_of(probs)
    nothing = np.zeros(rows, np.float32)
    return Model(
        owner="reference",
        arithmetic=REFERENCE,
        draw=inputs.get("draw", "modulo_reject"),
        seeds=checks.seeds(checks.column("seq_seed", inputs["seq_seed"], rows)),
        subsequences=request_subsequences(position, inputs.get("purpose", 0), numbering),
        drew=np.asarray(weights.any(axis=1)),
        fresh=np.zeros(rows, np.bool_),
        kept=weights > 0,
        weights=weights,
        tokens=draw_tokens(**inputs, backend=backend).astype(np.int64),
        lse=np.zeros((rows, 2), np.float32),
        lse0=nothing,
        plan=None,
    )

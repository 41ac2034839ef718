"""What can stand on one side of a case: a sampler of this project, a recorded result, any Python callable.

Every subject also has `answers`, the outputs that it can give, from which a suite takes its rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deepinfer.errors import InputError, unknown_name
from deepinfer.sampling import BACKENDS, SampleResult, SamplerInputs, draw_tokens, sample
from deepinfer.sampling.draw import DRAW_BACKENDS
from harness import recorded
from harness.case import Inputs, Outputs, Subject
from harness.nested import flatten
from harness.recording_file import names_in, read_entry

Array = NDArray[Any]
FIRST_ROWS = 8
"""Rows of `logprobs8`."""
SAMPLER_ANSWERS = ("tokens", "kept", "kept_count", "lse", "logprobs", "logprobs8")
CAPTURED = ("kept", "kept_count", "logprobs", "logprobs8")
"""What a sampler answers with detail="full" alone."""
VERIFY_ANSWERS = (*SAMPLER_ANSWERS, "accept", "accept_prob", "draft_selected")
_INPUT_FIELDS = tuple(field.name for field in dataclass_fields(SamplerInputs))
_OPTIONS = ("draw", "numbering", "filter_order", "min_p")


class AnsweringSubject(Subject, Protocol):
    """A Subject that says beforehand what it can answer."""

    @property
    def answers(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class SamplerSubject:
    """One of `deepinfer.sampling`'s samplers on one backend; its evidence is the SampleResult.

    With detail="tokens" the sampler captures nothing that its answer does not need, and answers so much less. The
    options draw, numbering, filter_order and min_p come from the inputs unless they are given here. Raises
    InputError for an unknown sampler or backend.
    """

    name: str
    backend: str
    draw: str | None = None
    numbering: str | None = None
    filter_order: str | None = None
    min_p: float | None = None
    detail: str = "full"

    def __post_init__(self) -> None:
        if self.name not in BACKENDS:
            raise unknown_name("sampler", self.name, list(BACKENDS))
        if self.backend not in BACKENDS[self.name]:
            raise unknown_name(f"backend of {self.name}", self.backend, list(BACKENDS[self.name]))

    @property
    def describe(self) -> str:
        own = [f"{option} {getattr(self, option)}" for option in _OPTIONS if getattr(self, option) is not None]
        own += [] if self.detail == "full" else [f"detail {self.detail}"]
        return ", ".join([f"{self.name} of deepinfer", f"backend {self.backend}", *own])

    @property
    def answers(self) -> tuple[str, ...]:
        names = SAMPLER_ANSWERS if self.name == "two_level" else VERIFY_ANSWERS
        return names if self.detail == "full" else tuple(name for name in names if name not in CAPTURED)

    @property
    def quiet(self) -> SamplerSubject:
        """The same sampler with its capture off."""
        return replace(self, detail="tokens")

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        options = {option: inputs[option] for option in _OPTIONS if option in inputs}
        options |= {option: getattr(self, option) for option in _OPTIONS if getattr(self, option) is not None}
        given = {name: value for name, value in inputs.items() if name not in _OPTIONS}
        foreign = [name for name in given if name not in _INPUT_FIELDS]
        if foreign:
            raise unknown_name("input of a sampler", foreign[0], (*_INPUT_FIELDS, *_OPTIONS))
        result = sample(self.name, SamplerInputs(**given), backend=self.backend, detail=self.detail, **options)
        answered = {output: sampler_output(result, output) for output in outputs if output in self.answers}
        return Outputs(answered, evidence=result, ran=f"sums {result.record.order}")


def sampler_output(result: SampleResult, output: str) -> Array:
    """One output of a SampleResult by the harness's name. Raises InputError where the result does not hold it."""
    record, logprobs = result.record, result.logprobs
    found = {
        "tokens": result.tokens,
        "kept": record.kept,
        "kept_count": None if record.kept is None else record.kept.sum(axis=1, dtype=np.int32),
        "lse": record.lse,
        "logprobs": logprobs,
        "logprobs8": None if logprobs is None else logprobs[:FIRST_ROWS],
        "accept": result.accept,
        "accept_prob": result.accept_prob,
        "draft_selected": result.draft_logprob,
    }
    if output not in found:
        raise unknown_name("output of a sampler", output, tuple(found))
    value = found[output]
    if value is None:
        raise InputError(f"{record.sampler} did not answer {output!r}: ask for it with draft inputs or detail='full'")
    return value


@dataclass(frozen=True)
class DrawSubject:
    """`deepinfer.sampling.draw_tokens` on one backend: the integer sampler alone, probabilities given."""

    backend: str

    def __post_init__(self) -> None:
        if self.backend not in DRAW_BACKENDS:
            raise unknown_name("backend of draw_tokens", self.backend, list(DRAW_BACKENDS))

    @property
    def describe(self) -> str:
        return f"draw_tokens of deepinfer, backend {self.backend}"

    @property
    def answers(self) -> tuple[str, ...]:
        return ("tokens",)

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        return Outputs({"tokens": draw_tokens(**inputs, backend=self.backend)}, ran="integers, no order")


@dataclass(frozen=True)
class CallableSubject:
    """A Python callable. It is called with a dict of copies of the inputs and returns an array (the first of
    `answers`) or a dict of arrays by output name, also nested and with rows of unequal length (harness/nested.py).
    `answers` is its attribute `outputs` (a tuple of names), or ("tokens",). Its attribute `quiet`, where it has one, is
    a callable that does the same with its capture off."""

    function: Callable[[dict[str, Any]], Any]
    name: str

    @property
    def describe(self) -> str:
        return f"callable {self.name}"

    @property
    def answers(self) -> tuple[str, ...]:
        named = getattr(self.function, "outputs", ("tokens",))
        if isinstance(named, str) or not all(isinstance(name, str) for name in named) or not named:
            raise InputError(f"{self.name}.outputs is {named!r}: give a tuple of output names such as ('tokens',)")
        return tuple(named)

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        returned = self.function(dict(inputs))
        try:
            return Outputs(flatten(returned, self.answers[0]))
        except ValueError as error:
            raise InputError(f"{self.name} returned {error}") from None

    @property
    def quiet(self) -> CallableSubject | None:
        quiet = getattr(self.function, "quiet", None)
        return callable_subject(quiet, f"{self.name}.quiet") if callable(quiet) else None


def callable_subject(function: Callable[[dict[str, Any]], Any], name: str | None = None) -> CallableSubject:
    """A subject from a callable; `name` is how reports call it (its qualified name when left out)."""
    if not callable(function):
        raise InputError(f"{function!r} is not callable: give a function of a dict of inputs")
    made_of = getattr(function, "__module__", "?"), getattr(function, "__qualname__", type(function).__name__)
    return CallableSubject(function, name or ":".join(made_of))


@dataclass(frozen=True)
class RecordedSubject:
    """Arrays that some run left behind; inputs are not looked at, so a case must be the one that was recorded."""

    source: str
    entry: str
    load: Callable[[], dict[str, Array]]
    answers: tuple[str, ...]

    @property
    def describe(self) -> str:
        return f"recorded {self.source}, {self.entry}"

    def __call__(self, inputs: Inputs, outputs: tuple[str, ...]) -> Outputs:
        arrays = self.load()
        return Outputs({name: arrays[name] for name in outputs if name in arrays})


def recorded_subject(source: str, kind: str, config: str) -> RecordedSubject:
    """A recording's answer to the case `kind`, `config`: the recording shipped with the harness, or a file.

    In an .npz or .safetensors file the arrays are called KIND.CONFIG.OUTPUT, as in `real.k50p.9.tokens`.
    """
    entry = f"{kind}.{config}"
    if source == recorded.RECORDING:
        names = recorded.output_names(kind, config)
        return RecordedSubject(source, entry, lambda: recorded.load_outputs(kind, config), names)
    names = tuple(name.removeprefix(f"{entry}.") for name in names_in(source) if name.startswith(f"{entry}."))
    return RecordedSubject(source, entry, lambda: read_entry(source, entry, names), names)

"""The table, its page, the facts it asks for, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepinfer.errors import InputError
from repro.cli import main
from repro.streams import ENTRIES, stream
from repro.streams.page import markdown

PAGE = Path(__file__).parents[3] / "docs" / "streams.md"
H200 = {"seed": 0, "offset": 0, "sm_count": 132, "threads_per_sm": 2048}


def test_the_page_is_made_from_the_table() -> None:
    assert PAGE.read_text() == markdown(), "run: repro streams --markdown > docs/streams.md"


def test_every_entry_is_whole() -> None:
    assert len({entry.engine for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        facts = {fact.name: fact.choices[0] if fact.choices else max(fact.least, 4) for fact in entry.facts}
        if "threads_per_sm" in facts:
            facts["threads_per_sm"] = 2048
        for version in entry.versions:
            assert stream(entry.engine, version, **facts).words(3).dtype.kind == "u"


@pytest.mark.parametrize("name", list(H200))
def test_a_missing_fact_is_named_with_where_to_find_it(name: str) -> None:
    facts = {key: value for key, value in H200.items() if key != name}
    with pytest.raises(InputError, match=f"torch_cuda needs {name} .*find it in"):
        stream("torch_cuda", "2.11.0", **facts)


@pytest.mark.parametrize("version", ["2.12.0", "2.10.0", "3.0.0", "2.11", "latest"])
def test_a_version_that_was_not_read_is_refused_with_those_that_were(version: str) -> None:
    with pytest.raises(InputError, match=r"known are 2\.11\.0, 2\.13\.0, 2\.14\.1"):
        stream("torch_cuda", version, **H200)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed is -1: give an integer from 0"),
        ({"seed": 2**64}, "give an integer from 0 to 18446744073709551615"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": True}, "seed is True"),
        ({"sm_count": 0}, "sm_count is 0"),
        ({"sms": 132}, "unknown fact of torch_cuda 'sms': known are seed, offset, sm_count, threads_per_sm"),
    ],
)
def test_wrong_facts_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        stream("torch_cuda", "2.11.0", **{**H200, **change})


def test_an_unknown_engine_and_a_kind_that_an_engine_lacks() -> None:
    with pytest.raises(InputError, match="unknown engine 'cuda': known are curand_device"):
        stream("cuda", "1")
    with pytest.raises(InputError, match="CppPhilox has no uniforms: it has words"):
        stream("std_philox4x32", "26", seed=1).uniforms(4)


def test_streams_are_frozen_and_nothing_is_consumed() -> None:
    made = stream("torch_cuda", "2.11.0", **H200)
    assert np.array_equal(made.words(8), made.words(8))
    with pytest.raises(AttributeError):
        made.seed = 1  # type: ignore[attr-defined]


def test_the_command_lists_shows_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["streams"]) == 0
    listed = capsys.readouterr().out
    assert all(entry.engine in listed for entry in ENTRIES)
    assert main(["streams", "triton"]) == 0
    assert "offset_bits" in capsys.readouterr().out
    facts = [part for name, value in H200.items() for part in ("--fact", f"{name}={value}")]
    assert main(["streams", "torch_cuda", "--version", "2.11.0", *facts, "-n", "2"]) == 0
    words = stream("torch_cuda", "2.11.0", **H200).words(2)
    assert capsys.readouterr().out.split() == [f"{word:08x}" for word in words]
    assert main(["streams", "--markdown"]) == 0
    assert capsys.readouterr().out == PAGE.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["streams", "cuda"], "unknown engine 'cuda'"),
        (["streams", "triton", "-n", "3"], "give --version, one of 3.6.0"),
        (["streams", "triton", "--version", "3.6.0", "-n", "3"], "triton needs seed"),
        (["streams", "triton", "--version", "3.6.0", "-n", "0"], "give -n 1 or more"),
        (["streams", "triton", "--version", "3.6.0", "-n", "1", "--fact", "seed"], "give NAME=VALUE"),
    ],
)
def test_the_command_refuses_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1

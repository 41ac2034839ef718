"""Subjects: samplers, recordings in the package and in files, callables by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from deepinfer.errors import InputError
from deepinfer.sampling import SamplerInputs, sample
from harness.subject_names import parse_subject
from harness.subjects import (
    DrawSubject,
    SamplerSubject,
    callable_subject,
    recorded_subject,
    sampler_output,
)

ENTRY = ("real", "k50p.9")


def small(rows: int = 12, columns: int = 40) -> dict[str, Any]:
    logits = np.random.default_rng(3).standard_normal((rows, columns)).astype(np.float32)
    seeds, position = np.arange(rows, dtype=np.uint64), np.arange(rows)
    return {"logits": logits, "top_p": 0.9, "top_k": 10, "seq_seed": seeds, "position": position, "min_p": None}


@pytest.mark.parametrize("name", ["two_level", "fused_sample", "exact_sample"])
def test_a_sampler_subject_is_sample(name: str) -> None:
    given = small()
    subject = SamplerSubject(name, "reference", draw="multiply_shift", numbering="deepinfer")
    asked = ("tokens", "kept", "kept_count", "lse", "logprobs", "logprobs8")
    answered = subject({**given, "numbering": "absolute"}, asked)
    fields = {key: value for key, value in given.items() if key != "min_p"}
    direct = sample(name, SamplerInputs(**fields), backend="reference", draw="multiply_shift", numbering="deepinfer")
    assert tuple(answered.arrays) == asked
    assert answered.arrays["tokens"].tolist() == direct.tokens.tolist()
    assert answered.arrays["kept_count"].tolist() == direct.record.kept.sum(axis=1).tolist()
    assert answered.arrays["logprobs8"].tobytes() == direct.logprobs[:8].tobytes()
    assert answered.evidence.record.draw == "multiply_shift"
    assert subject.describe == f"{name} of deepinfer, backend reference, draw multiply_shift, numbering deepinfer"
    assert answered.ran == f"sums {direct.record.order}"


def test_a_sampler_answers_exactly_what_is_asked_of_what_it_can() -> None:
    assert set(SamplerSubject("fused_sample", "reference")(small(), ("tokens", "nothing")).arrays) == {"tokens"}


def test_verification_outputs() -> None:
    given = small() | {
        "draft_logprobs": np.full((12, 40), np.float32(-3.7)),
        "draft_ids": np.arange(12, dtype=np.int32),
        "is_verify": np.arange(12) % 2 == 0,
    }
    asked = ("accept", "accept_prob", "draft_selected")
    answered = SamplerSubject("fused_sample", "reference")(given, asked)
    assert [answered.arrays[name].dtype.name for name in asked] == ["bool", "float32", "float32"]
    with pytest.raises(InputError, match="accept"):
        sampler_output(SamplerSubject("fused_sample", "reference")(small(), ("tokens",)).evidence, "accept")
    assert "accept" not in SamplerSubject("two_level", "reference").answers


def test_a_foreign_input_is_named() -> None:
    with pytest.raises(InputError, match="'topp'"):
        SamplerSubject("two_level", "reference")(small() | {"topp": 0.5}, ("tokens",))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: SamplerSubject("greedy", "reference"), "two_level, fused_sample, exact_sample"),
        (lambda: SamplerSubject("two_level", "cuda"), "backend of two_level 'cuda': known are reference"),
        (lambda: DrawSubject("fpga"), "backend of draw_tokens 'fpga'"),
        (lambda: parse_subject("two_levels", backend="reference"), "recorded:PATH, module:function"),
        (lambda: parse_subject("recorded:deepinfer-0.1.0", backend="reference"), "suite"),
        (lambda: parse_subject("recorded:deepinfer-9", backend="reference", entry=ENTRY), "known are deepinfer-0.1.0"),
        (lambda: parse_subject("recorded:absent.npz", backend="reference", entry=ENTRY), "No such file"),
        (lambda: parse_subject("no_such_module:f", backend="reference"), "cannot import 'no_such_module'"),
        (lambda: parse_subject("math:no_such", backend="reference"), "module 'math' has no 'no_such'"),
        (lambda: parse_subject("math:pi", backend="reference"), "math:pi is a float"),
        (lambda: parse_subject(":f", backend="reference"), "cannot import ''"),
        (lambda: parse_subject("math:", backend="reference"), "module 'math' has no ''"),
        (lambda: callable_subject(3), "not callable"),  # type: ignore[arg-type]
    ],
)
def test_unknown_names_list_the_known_ones_in_one_line(make: Any, text: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_module_that_fails_to_import_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_kernel_module.py").write_text("raise RuntimeError('two\\nlines')\n")
    (tmp_path / "inner_kernel_module.py").write_text("import numpy\nnumpy.no_such_thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="RuntimeError: two lines"):
        parse_subject("broken_kernel_module:f", backend="reference")
    with pytest.raises(InputError, match=r"cannot import 'inner_kernel_module' .*no_such_thing"):
        parse_subject("inner_kernel_module:f", backend="reference")


def test_a_callable_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_kernel_module.py").write_text(
        "import numpy as np\n"
        "def mine(given):\n"
        "    return given['logits'].argmax(axis=1).astype(np.int32)\n"
        "def more(given):\n"
        "    return {'tokens': mine(given), 'kept': given['logits'] > 0}\n"
        "more.outputs = ('tokens', 'kept')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    mine = parse_subject("own_kernel_module:mine", backend="reference")
    assert mine.answers == ("tokens",)
    assert mine.describe == "callable own_kernel_module:mine"
    assert mine(small(), ("tokens",)).arrays["tokens"].tolist() == small()["logits"].argmax(axis=1).tolist()
    more = parse_subject("own_kernel_module:more", backend="reference")
    assert more.answers == ("tokens", "kept")
    assert set(more(small(), more.answers).arrays) == {"tokens", "kept"}


def test_what_a_callable_returns_is_checked() -> None:
    ragged = callable_subject(lambda given: {"tokens": [object()]}, "ragged")
    with pytest.raises(InputError, match="ragged returned list for 'tokens'"):
        ragged({}, ("tokens",))
    listed = callable_subject(lambda given: [1, 2])
    assert listed({}, ("tokens",)).arrays["tokens"].tolist() == [1, 2]

    def wrong(given: dict[str, Any]) -> None: ...

    wrong.outputs = "tokens"  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="tuple of output names"):
        _ = callable_subject(wrong).answers


def arrays() -> dict[str, np.ndarray]:
    return {
        "real.k50p.9.tokens": np.arange(5, dtype=np.int32),
        "real.k50p.9.lse": np.ones((5, 2), np.float32),
        "real.engine.tokens": np.zeros(5, np.int32),
    }


def test_recordings_in_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", **arrays())
    save_file(arrays(), tmp_path / "run.safetensors")
    for name in ("run.npz", "run.safetensors"):
        subject = parse_subject(f"recorded:{tmp_path / name}", backend="reference", entry=ENTRY)
        assert set(subject.answers) == {"tokens", "lse"}
        assert subject({}, ("tokens",)).arrays["tokens"].tolist() == [0, 1, 2, 3, 4]
        assert recorded_subject(str(tmp_path / name), "real", "narrow").answers == ()


def test_order_and_metadata_of_safetensors_do_not_matter(tmp_path: Path) -> None:
    save_file(arrays(), tmp_path / "a.safetensors", metadata={"made": "here", "by": "us"})
    save_file(dict(reversed(arrays().items())), tmp_path / "b.safetensors", metadata={"by": "us", "made": "there"})
    assert (tmp_path / "a.safetensors").read_bytes() != (tmp_path / "b.safetensors").read_bytes()
    first, second = (recorded_subject(str(tmp_path / name), *ENTRY) for name in ("a.safetensors", "b.safetensors"))
    for name in ("tokens", "lse"):
        assert first({}, (name,)).arrays[name].tobytes() == second({}, (name,)).arrays[name].tobytes()


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_truncated_and_foreign_files_are_one_line(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    for content in (b"", b"not a file of arrays", b"PK\x03\x04 truncated"):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            recorded_subject(str(path), *ENTRY)
        assert "\n" not in str(caught.value)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    np.savez(path, **{"real.k50p.9.tokens": np.asarray(["a", None], object)})
    subject = recorded_subject(str(path), *ENTRY)
    with pytest.raises(InputError, match="allow_pickle"):
        subject({}, ("tokens",))

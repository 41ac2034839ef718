"""The recorded outputs: shapes, the inputs that are formulas, and agreement of the parts with each other."""

from __future__ import annotations

import numpy as np
import pytest

from deepinfer.errors import InputError
from harness import recorded

FRESH = [(kind, config) for kind in recorded.FRESH_KINDS for config in recorded.configs(kind)]
SHAPES = {
    "real": (250, 4096), "normal": (250, 4096), "normal3": (250, 4096), "ternary": (250, 4096), "zeros": (250, 4096),
    "normal3_1024": (256, 1024), "ternary_1024": (256, 1024), "normal3_129280": (8, 129280),
    "bf16_full": (64, 49152), "verify": (182, 1024), "verify_fresh": (74, 1024), "penalty_residual": (24, 4096),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "config"), FRESH)
def test_recorded_parts_fit_each_other(kind: str, config: str) -> None:
    found = recorded.load_outputs(kind, config)
    rows, columns = SHAPES[kind]
    assert set(found) == set(recorded.output_names(kind, config))
    assert found["tokens"].shape == (rows,)
    assert found["lse"].shape == (rows, 2)
    assert ((found["tokens"] >= 0) & (found["tokens"] < columns)).all()
    if "kept" in found:
        assert found["kept"].shape == (rows, columns)
        assert found["kept"][np.arange(rows), found["tokens"]].all()  # every token was kept
        assert found["kept"].any(axis=1).all()
    else:
        assert (found["kept_count"] >= 1).all()
    if "logprobs8" in found:
        finite = np.isfinite(found["logprobs8"])
        count = found["kept"][:8].sum(axis=1) if "kept" in found else found["kept_count"][:8]
        assert finite.sum(axis=1).tolist() == count.tolist()
        assert "kept" not in found or (finite == found["kept"][:8]).all()


@pytest.mark.parametrize("kind", recorded.FRESH_KINDS + recorded.VERIFY_KINDS)
def test_inputs_have_a_row_for_every_recorded_one(kind: str) -> None:
    library = recorded.Library()
    for config in recorded.configs(kind):
        given = library.inputs(kind, config)
        assert (given["logits"].dtype, given["logits"].shape) == (np.float32, SHAPES[kind])
        for name in ("seq_seed", "position"):
            assert given[name].shape == SHAPES[kind][:1]
        assert given["numbering"] == "deepinfer"
        assert {name: given[name] for name in ("temperature", "top_p", "top_k")} == recorded.CONFIGS[config]
        assert len(recorded.load_outputs(kind, config)["tokens"]) == SHAPES[kind][0]


@pytest.mark.parametrize("kind", ["real", "normal", "normal3", "ternary", "zeros", "normal3_1024", "bf16_full"])
def test_inputs_belong_to_the_recording(kind: str) -> None:
    """lse1 is minus the largest logit, exactly; another row's is not."""
    largest = recorded.load_inputs(kind, "engine")["logits"].max(axis=1)
    recorded_largest = -recorded.load_outputs(kind, "engine")["lse"][:, 1]
    np.testing.assert_array_equal(largest, recorded_largest)
    if kind not in ("ternary", "zeros"):
        assert not np.array_equal(np.roll(largest, 1), recorded_largest)


def test_zeros_alternate_their_sign() -> None:
    logits = recorded.load_inputs("zeros", "k1")["logits"]
    signs = np.signbit(logits)
    assert not logits.any()
    assert signs[:, ::2].all()
    assert not signs[:, 1::2].any()


def test_bf16_logits_are_bf16_and_tie() -> None:
    logits = recorded.load_inputs("bf16_full", "engine")["logits"]
    assert not (logits.view(np.uint32) & 0xFFFF).any()
    assert len(np.unique(logits[0])) < logits.shape[1] // 10


@pytest.mark.parametrize("config", recorded.DRAW_CONFIGS)
def test_probabilities_of_the_integer_sampler(config: str) -> None:
    rows = {"random_sampling_1024": 256, "random_sampling_4096": 256, "random_sampling_129280": 36}
    for kind, count in rows.items():
        given = recorded.load_inputs(kind, config)
        assert given["probs"].shape == (count, int(kind.rsplit("_", 1)[1]))
        assert given["purpose"] == int(config[-1])
        tokens = recorded.load_outputs(kind, config)["tokens"]
        assert (given["probs"][np.arange(count), tokens] > 0).all()
    sparse = (given["probs"] > 0).sum(axis=1)
    assert sparse[:32].tolist() == [12] * 32
    assert (sparse[32:] > 1000).all()


def test_verification_rows_are_split_and_lose_none() -> None:
    verified, fresh = recorded.load_inputs("verify", "engine"), recorded.load_inputs("verify_fresh", "engine")
    assert verified["is_verify"].all()
    assert not fresh["is_verify"].any()
    assert len(verified["logits"]) + len(fresh["logits"]) == 256


def test_a_library_hands_out_read_only_arrays_of_the_kind_asked_for() -> None:
    library = recorded.Library()
    first, second = library.inputs("real", "engine"), library.inputs("real", "narrow")
    assert first["logits"] is second["logits"]
    assert not first["logits"].flags.writeable
    assert library.inputs("zeros", "engine")["logits"].shape == (250, 4096)
    np.testing.assert_array_equal(library.inputs("real", "k1")["logits"], first["logits"])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: recorded.load_inputs("reel", "engine"), "real, normal"),
        (lambda: recorded.load_inputs("real", "engines"), "known are engine, narrow"),
        (lambda: recorded.load_outputs("verify", "k1"), "known are engine, narrow, nofilter"),
        (lambda: recorded.output_names("random_sampling_1024", "engine"), "known are next0, next1"),
    ],
)
def test_unknown_kinds_and_configurations(call: object, text: str) -> None:
    with pytest.raises(InputError, match=text):
        call()  # type: ignore[operator]

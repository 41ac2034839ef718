"""Every wrong input is one line that says what was got, what is allowed and what to do; other rows are untouched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deepinfer
from deepinfer.errors import InputError
from deepinfer.sampling import SamplerInputs, SamplingParams, draw_tokens, sample
from deepinfer.sampling.params import ALL_NEG_INF, NAN, OK, POS_INF

X = np.asarray([[0.0, 1.0, 2.0]] * 3, np.float32)


def reference(inputs: SamplerInputs, **options: Any) -> Any:
    return sample("two_level", inputs, backend="reference", **options)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"logits": X.astype(np.float64)}, "dtype float64"),
        ({"logits": X.astype(np.float16)}, "dtype float16"),
        ({"logits": X[0]}, r"shape \(3,\)"),
        ({"logits": np.zeros((3, 0), np.float32)}, r"shape \(3, 0\)"),
        ({"temperature": -1.0}, "temperature of row 0 is -1.0"),
        ({"temperature": [1.0, np.nan, 1.0]}, "temperature of row 1"),
        ({"temperature": np.inf}, "temperature of row 0 is inf"),
        ({"temperature": [1.0, 1.0]}, r"temperature has shape \(2,\)"),
        ({"temperature": "hot"}, "temperature has dtype"),
        ({"top_p": 0.0}, "top_p of row 0 is 0.0"),
        ({"top_p": 1.5}, "top_p of row 0 is 1.5"),
        ({"top_p": np.nan}, "top_p of row 0 is nan"),
        ({"top_k": 0}, "top_k of row 0 is 0"),
        ({"top_k": [1, -2, 1]}, "top_k of row 1 is -2"),
        ({"top_k": 1.5}, "top_k has dtype float64"),
        ({"top_k": True}, "top_k has dtype bool"),
        ({"seq_seed": -1}, "seq_seed of row 0 is -1"),
        ({"seq_seed": 2**64}, "seq_seed of row 0 is 18446744073709551616"),
        ({"seq_seed": 0.5}, "seq_seed has dtype float64"),
        ({"position": -1}, "position of row 0 is -1"),
        ({"position": 2**62}, "position of row 0 is 4611686018427387904"),
        ({"position": 2**63}, "position of row 0"),
        ({"draft_ids": 0}, "verification needs"),
    ],
)
def test_bad_input_is_one_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        reference(SamplerInputs(**{"logits": X, **fields}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draw": "sort"}, "unknown draw rule 'sort': known are modulo_reject, multiply_shift"),
        ({"numbering": "mine"}, "unknown numbering 'mine': known are absolute, deepinfer"),
        ({"filter_order": "x"}, "unknown filter order"),
        ({"min_p": 1.5}, "min_p is 1.5"),
        ({"min_p": float("nan")}, "min_p is nan"),
        ({"on_error": "skip"}, "unknown on_error"),
        ({"detail": "some"}, "unknown detail"),
    ],
)
def test_bad_option_lists_what_is_known(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reference(SamplerInputs(X), **options)


def test_unknown_sampler_and_backend() -> None:
    with pytest.raises(InputError, match="unknown sampler 'best': known are two_level, fused_sample"):
        sample("best", SamplerInputs(X), backend="reference")
    with pytest.raises(InputError, match="unknown backend of two_level 'auto': known are reference"):
        sample("two_level", SamplerInputs(X), backend="auto")


def test_position_range_of_upstream_numbering() -> None:
    inputs = SamplerInputs(X, position=(2**31 + 2) // 3)
    with pytest.raises(InputError, match="deepinfer numbering allows"):
        reference(inputs, numbering="deepinfer")
    assert reference(inputs).tokens.shape == (3,)


@pytest.mark.parametrize(("bad", "status"), [(np.nan, NAN), (np.inf, POS_INF), (-np.inf, ALL_NEG_INF)])
def test_a_bad_row_is_named_or_masked_and_changes_no_other(bad: float, status: int) -> None:
    logits = X.copy()
    logits[1] = bad
    with pytest.raises(InputError, match="row 1"):
        reference(SamplerInputs(logits))
    masked = reference(SamplerInputs(logits, seq_seed=[5, 6, 7]), on_error="mask")
    clean = reference(SamplerInputs(X, seq_seed=[5, 6, 7]))
    assert masked.record.status.tolist() == [OK, status, OK]
    assert masked.tokens[1] == -1
    assert masked.tokens[[0, 2]].tolist() == clean.tokens[[0, 2]].tolist()
    assert np.array_equal(masked.logprobs[[0, 2]].view(np.uint32), clean.logprobs[[0, 2]].view(np.uint32))


def test_one_nan_among_good_columns_masks_the_row() -> None:
    logits = X.copy()
    logits[2, 1] = np.nan
    assert reference(SamplerInputs(logits), on_error="mask").record.status.tolist() == [OK, OK, NAN]


def test_inputs_are_never_written() -> None:
    logits = X.copy()
    logits.setflags(write=False)
    for name in ("two_level", "fused_sample"):
        sample(name, SamplerInputs(logits, top_p=0.5, top_k=2), backend="reference", min_p=0.1)


def test_no_rows_is_no_tokens() -> None:
    assert reference(SamplerInputs(X[:0])).tokens.shape == (0,)


def test_sampling_params_checks_itself() -> None:
    assert deepinfer.SamplingParams is SamplingParams
    with pytest.raises(InputError, match="top_p"):
        SamplingParams(top_p=2)
    with pytest.raises(InputError, match="seq_seed"):
        SamplingParams(seq_seed=-1)


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (np.zeros((1, 3), np.float32), "row 0 have weights that sum to 0"),
        (np.full((2, 3), 0.7, np.float32), "row 0 have weights that sum to 4509715584"),
        (np.asarray([[0.5, 0.5], [1.5, -0.5]], np.float32), "row 1"),
        (np.asarray([[np.nan, 0.5]], np.float32), "row 0"),
        (np.asarray([[np.inf, 0.5]], np.float32), "row 0"),
        (np.zeros((1, 3)), "float64"),
        (np.zeros((1, 0), np.float32), "at least one column"),
    ],
)
def test_draw_tokens_refuses_what_is_no_distribution(probs: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw_tokens(probs, 0, 0, backend="reference")


def test_draw_tokens_names() -> None:
    probs = np.full((1, 2), 0.5, np.float32)
    with pytest.raises(InputError, match="purpose is 2"):
        draw_tokens(probs, 0, 0, 2, backend="reference")
    with pytest.raises(InputError, match="unknown backend of draw_tokens"):
        draw_tokens(probs, 0, 0, backend="gpu")

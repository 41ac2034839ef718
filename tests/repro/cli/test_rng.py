"""`repro rng`: what it prints, what it compares, how it ends."""

from __future__ import annotations

import numpy as np
import pytest

from deepinfer.rng import StreamKey, curand_oracle, normal, uniform, words
from repro.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["rng", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_words_are_printed_in_hexadecimal(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--seed", "42", "--offset", "3", "-n", "4")
    assert (code, err) == (0, "")
    assert out.split() == ["5742b3d7", "fcdb2127", "53ba6cfd", "838f5a6e"]


def test_keys_in_hexadecimal_and_every_backend(capsys: pytest.CaptureFixture[str]) -> None:
    key = ["--seed", "0xdeadbeefcafebabe", "--subsequence", "4294967296", "--offset", "0x400000001", "-n", "4"]
    for backend in ("reference", "native", "torch", "triton"):
        assert run(capsys, *key, "--backend", backend)[1].split() == ["fbc35e9e", "89f509c4", "5bd90644", "2c0f601f"]


@pytest.mark.parametrize(("kind", "function"), [("uniform", uniform), ("normal", normal)])
def test_floats_are_printed_so_that_they_read_back(
    capsys: pytest.CaptureFixture[str], kind: str, function: object
) -> None:
    code, out, _ = run(capsys, "--seed", "7", "-n", "9", "--as", kind)
    assert code == 0
    np.testing.assert_array_equal(np.asarray(out.split(), np.float32), function(StreamKey(7, 0), 0, 9))  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["u32", "uniform", "uniform_double", "uniform2_double", "normal"])
def test_equal_to_curand_device(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    key = ["--seed", "5", "--subsequence", "6", "--offset", "7", "-n", "1000", "--as", kind]
    code, out, _ = run(capsys, *key, "--compare", "curand-device")
    assert code == 0
    assert len(out.splitlines()) == 1002  # a head, the values side by side, the sum
    assert "1000 of 1000 equal to curand-device, 0 different" in out.splitlines()[-1]


@pytest.mark.parametrize("kind", ["u32", "uniform", "uniform2_double", "normal"])
@pytest.mark.parametrize("ordering", ["default", "best", "legacy"])
def test_equal_to_curand_host(capsys: pytest.CaptureFixture[str], kind: str, ordering: str) -> None:
    key = ["--seed", "5", "--offset", "262143", "-n", "1000", "--as", kind, "--ordering", ordering]
    code, out, _ = run(capsys, *key, "--compare", "curand-host", "--quiet")
    assert code == 0
    assert out.startswith("1000 of 1000 equal to curand-host, 0 different")


def test_a_difference_is_shown_side_by_side_and_ends_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curand_oracle, "curand_device", lambda s, q, o, n, kind: words(StreamKey(s, q), o + 1, n))
    code, out, _ = run(capsys, "--seed", "42", "-n", "50", "--compare", "curand-device", "-q")
    lines = out.splitlines()
    assert code == 1
    assert lines[1].split() == ["0", "9ceaf053", "77f5493b", "!="]
    assert len(lines) == 22
    assert lines[-1] == "0 of 50 equal to curand-device, 50 different"


def test_normals_have_an_allowance_that_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    key = ["-n", "20000", "--as", "normal", "--compare", "curand-device", "-q"]
    code, out, _ = run(capsys, *key)
    assert code == 0
    assert out.strip().endswith("ULP, allowed 4")
    code, out, _ = run(capsys, *key, "--ulp", "0")
    assert code == 1
    assert out.strip().endswith("allowed 0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0"], "count is 0, so there is nothing to show or compare: give -n 1 or more"),
        (["-n", "0", "--compare", "curand-host"], "nothing to show or compare"),
        (["-n", "-3"], "count is -3"),
        (["--seed", "-1"], "seed is -1: give an integer from 0 to 2^64 - 1"),
        (["--seed", "18446744073709551616"], "seed is 18446744073709551616"),
        (["--seed", "4.5"], "'4.5' is no integer"),
        (["--offset", "-1", "--compare", "curand-host"], "offset is -1"),
        (["--backend", "gpu"], "unknown RNG backend 'gpu': known are reference, native, torch, triton, cuda"),
        (["--as", "gamma"], "'gamma' is not one of"),
        (["--compare", "numpy"], "'numpy' is not one of"),
        (["--compare", "curand-host", "--as", "uniform_double"], "curand-host has no uniform_double"),
        (["--compare", "curand-host", "--subsequence", "1"], "subsequence is 1: curand-host uses all of them in turn"),
        (["--ulp", "-1"], "ulp is -1: give 0 or more"),
    ],
)
def test_usage_errors_end_with_2(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1

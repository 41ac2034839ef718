"""`repro sample`: the same tokens from every kind of file, in chunks, and nothing written when something is wrong."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from deepinfer.sampling import SamplerInputs, sample
from repro.cli import main
from repro.cli import sample as command

ROWS, COLUMNS = 23, 17
SUFFIXES = ("npz", "compressed.npz", "safetensors", "parquet")
TWIN = ["--sampler", "two_level", "--backend", "reference"]


@pytest.fixture
def logits(generator: np.random.Generator) -> NDArray[np.float32]:
    return generator.standard_normal((ROWS, COLUMNS)).astype(np.float32) * 3


def save(path: Path, logits: NDArray[Any], **extras: NDArray[Any]) -> Path:
    if path.name.endswith(".safetensors"):
        save_file({"logits": logits, **extras}, path)
    elif path.name.endswith(".parquet"):
        lists = pa.FixedSizeListArray.from_arrays(pa.array(logits.reshape(-1)), logits.shape[1])
        pq.write_table(pa.table({"logits": lists, **extras}), path)
    elif "compressed" in path.name:
        np.savez_compressed(path, allow_pickle=False, logits=logits, **extras)
    else:
        np.savez(path, allow_pickle=False, logits=logits, **extras)
    return path


def expected(logits: NDArray[np.float32], seed: Any, position: Any, **params: Any) -> list[int]:
    inputs = SamplerInputs(logits, seq_seed=seed, position=position, **params)
    tokens: list[int] = sample("two_level", inputs, backend="reference", on_error="mask").tokens.tolist()
    return tokens


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("kind", SUFFIXES)
@pytest.mark.parametrize("chunk_rows", [1, 5, ROWS, 1000])
def test_tokens_do_not_depend_on_file_or_chunk(
    kind: str,
    chunk_rows: int,
    logits: NDArray[np.float32],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "CHUNK_BYTES", chunk_rows * COLUMNS * 4)
    path = save(tmp_path / f"x.{kind}", logits)
    assert main(["sample", str(path), "--seed", "7", *TWIN]) == 0
    seen = lines(capsys.readouterr().out)
    assert [row["token"] for row in seen] == expected(logits, 7, np.arange(ROWS))
    assert [row["row"] for row in seen] == list(range(ROWS))
    assert {row["status"] for row in seen} == {"ok"}


@pytest.mark.parametrize("kind", SUFFIXES)
def test_seeds_and_positions_of_the_file(
    kind: str, logits: NDArray[np.float32], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = np.arange(ROWS, dtype=np.uint64) + np.uint64(2**64 - ROWS)
    positions = np.arange(ROWS, dtype=np.int64)[::-1].copy() * 2**40
    path = save(tmp_path / f"x.{kind}", logits, seeds=seeds, positions=positions)
    assert main(["sample", str(path), *TWIN]) == 0
    assert [row["token"] for row in lines(capsys.readouterr().out)] == expected(logits, seeds, positions)
    assert main(["sample", str(path), *TWIN, "--seed", "1"]) == 2
    assert "leave out" in capsys.readouterr().err


def test_positions_option_shifts_every_row(
    logits: NDArray[np.float32], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "x.npz", logits)
    main(["sample", str(path), "--seed", "7", "--positions", "100", *TWIN])
    shifted = [row["token"] for row in lines(capsys.readouterr().out)]
    assert shifted == expected(logits, 7, np.arange(100, 100 + ROWS))
    assert shifted != expected(logits, 7, np.arange(ROWS))


def test_parameters_reach_the_sampler(
    logits: NDArray[np.float32], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "x.npz", logits)
    cut = ["--temperature", "0.5", "--top-p", "0.7", "--top-k", "3"]
    main(["sample", str(path), "--seed", "7", *cut, *TWIN])
    want = expected(logits, 7, np.arange(ROWS), temperature=0.5, top_p=0.7, top_k=3)
    assert [row["token"] for row in lines(capsys.readouterr().out)] == want
    main(["sample", str(path), "--seed", "7", "--temperature", "0", *TWIN])
    assert [row["token"] for row in lines(capsys.readouterr().out)] == logits.argmax(axis=1).tolist()


def test_logprob_is_the_token_s_own(
    logits: NDArray[np.float32], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "x.npz", logits)
    main(["sample", str(path), "--seed", "7", *TWIN])
    inputs = SamplerInputs(logits, seq_seed=7, position=np.arange(ROWS))
    result = sample("two_level", inputs, backend="reference")
    assert result.logprobs is not None
    seen = np.asarray([row["logprob"] for row in lines(capsys.readouterr().out)], np.float32)
    want = result.logprobs[np.arange(ROWS), result.tokens]
    assert seen.view(np.uint32).tolist() == want.view(np.uint32).tolist()


def test_parquet_and_json_lines_hold_the_same(logits: NDArray[np.float32], tmp_path: Path) -> None:
    logits[4, 2] = np.nan
    path = save(tmp_path / "x.npz", logits)
    for name in ("out.parquet", "out.jsonl"):
        argv = ["sample", str(path), "--seed", "7", "--on-error", "mask", "--out", str(tmp_path / name), *TWIN]
        assert main(argv) == 0
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    other = lines((tmp_path / "out.jsonl").read_text())
    for row in other:
        row["logprob"] = None if row["logprob"] is None else float(np.float32(row["logprob"]))
    assert table == other
    assert (table[4]["token"], table[4]["logprob"], table[4]["status"]) == (-1, None, "NaN in the logits")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.jsonl", "out.parquet", "x.npz"]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_row_is_named_and_other_rows_stay(
    bad: float,
    logits: NDArray[np.float32],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "CHUNK_BYTES", 5 * COLUMNS * 4)
    clean = expected(logits, 7, np.arange(ROWS))
    logits[11, 3] = bad
    path = save(tmp_path / "x.npz", logits)
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    assert main(["sample", str(path), "--seed", "7", "--out", str(out), *TWIN]) == 2
    seen = capsys.readouterr().err
    assert "row 11: " in seen
    assert seen.count("\n") == 1
    assert out.read_text() == "mine"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.jsonl", "x.npz"]
    assert main(["sample", str(path), "--seed", "7", "--on-error", "mask", *TWIN]) == 0
    tokens = [row["token"] for row in lines(capsys.readouterr().out)]
    assert tokens == [*clean[:11], -1, *clean[12:]]


def test_no_rows_is_an_empty_file(tmp_path: Path) -> None:
    path = save(tmp_path / "x.npz", np.zeros((0, COLUMNS), np.float32))
    for name in ("out.parquet", "out.jsonl"):
        assert main(["sample", str(path), "--seed", "7", "--out", str(tmp_path / name), *TWIN]) == 0
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def pickled(path: Path) -> None:
    np.savez(path, logits=np.asarray([{"a": 1}], object))


def fortran(path: Path) -> None:
    np.savez(path, logits=np.asfortranarray(np.zeros((3, 4), np.float32)))


def other_array(path: Path) -> None:
    np.savez(path, scores=np.zeros((3, 4), np.float32))


def truncated(path: Path) -> None:
    np.savez(path, logits=np.zeros((30, 40), np.float32))
    path.write_bytes(path.read_bytes()[:-30])


def flipped(path: Path) -> None:
    np.savez(path, logits=np.zeros((30, 40), np.float32))
    content = bytearray(path.read_bytes())
    content[2000] ^= 1
    path.write_bytes(content)


def short_member(path: Path) -> None:
    np.savez(path, logits=np.zeros((30, 40), np.float32))
    with zipfile.ZipFile(path) as archive:
        member = archive.read("logits.npy")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("logits.npy", member[:-40])


def of_dtype(dtype: str) -> Any:
    def write(path: Path) -> None:
        np.savez(path, logits=np.zeros((3, 4), dtype))

    return write


def of_shape(*shape: int) -> Any:
    def write(path: Path) -> None:
        np.savez(path, logits=np.zeros(shape, np.float32))

    return write


BROKEN = {
    "pickled": pickled,
    "fortran": fortran,
    "other array": other_array,
    "truncated": truncated,
    "flipped": flipped,
    "short member": short_member,
    "text": lambda path: path.write_text("hello"),
    "empty": lambda path: path.write_bytes(b""),
    "float64": of_dtype("f8"),
    "int32": of_dtype("i4"),
    "vector": of_shape(4),
    "cube": of_shape(2, 3, 4),
    "no columns": of_shape(3, 0),
}


@pytest.mark.parametrize("harm", BROKEN)
def test_a_broken_npz_is_one_line(harm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "x.npz", tmp_path / "out.parquet"
    BROKEN[harm](path)
    out.write_text("mine")
    assert main(["sample", str(path), "--seed", "7", "--out", str(out), *TWIN]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.startswith("repro: error: ")
    assert str(path) in seen.err
    assert seen.err.count("\n") == 1
    assert out.read_text() == "mine"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.parquet", "x.npz"]


@pytest.mark.parametrize("kind", ["safetensors", "parquet"])
@pytest.mark.parametrize("harm", ["text", "truncated", "float64", "other array"])
def test_other_broken_files_are_one_line(
    kind: str, harm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"x.{kind}"
    save(path, np.zeros((30, 40), np.float64 if harm == "float64" else np.float32))
    if harm == "text":
        path.write_text("hello")
    elif harm == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
    elif harm == "other array" and kind == "parquet":
        pq.write_table(pa.table({"scores": [1.0]}), path)
    elif harm == "other array":
        save_file({"scores": np.zeros(3, np.float32)}, path)
    assert main(["sample", str(path), "--seed", "7", *TWIN]) == 2
    seen = capsys.readouterr()
    assert (seen.out, seen.err.count("\n")) == ("", 1)
    assert str(path) in seen.err


def test_parquet_with_nulls_or_ragged_lists_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"logits": pa.array([[1.0, None], [1.0, 2.0]], pa.list_(pa.float32(), 2))}), path)
    assert main(["sample", str(path), "--seed", "7", *TWIN]) == 2
    assert "nulls" in capsys.readouterr().err
    pq.write_table(pa.table({"logits": pa.array([[1.0], [1.0, 2.0]], pa.list_(pa.float32()))}), path)
    assert main(["sample", str(path), "--seed", "7", *TWIN]) == 2
    assert "fixed-size list" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "known"),
    [
        (["--sampler", "nothing"], "two_level"),
        (["--sampler", "two_level", "--backend", "nothing"], "reference"),
        ([*TWIN, "--draw", "nothing"], "multiply_shift"),
        ([*TWIN, "--numbering", "nothing"], "absolute"),
        ([*TWIN, "--filter-order", "nothing"], "joint"),
        ([*TWIN, "--top-p", "0"], "top_p"),
        ([*TWIN, "--top-p", "nan"], "top_p"),
        ([*TWIN, "--top-k", "0"], "top_k"),
        ([*TWIN, "--temperature", "-1"], "temperature"),
        ([*TWIN, "--min-p", "2"], "min_p"),
        ([*TWIN, "--positions", "-1"], "position"),
        ([*TWIN, "--positions", str(2**62)], "position"),
        ([*TWIN, "--out", "x.csv"], ".parquet"),
        ([*TWIN, "--out", "/nowhere/x.jsonl"], "/nowhere"),
        ([*TWIN, "--seed", "-1"], "seed"),
        ([*TWIN, "--seed", str(2**64)], "seed"),
        ([*TWIN, "--seed", "x"], "--seed"),
    ],
)
def test_bad_options_are_one_line(
    argv: list[str],
    known: str,
    logits: NDArray[np.float32],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = save(tmp_path / "x.npz", logits)
    assert main(["sample", str(path), "--seed", "7", *argv]) == 2
    seen = capsys.readouterr()
    assert (seen.out, seen.err.count("\n")) == ("", 1)
    assert known in seen.err


def test_no_seed_and_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", str(save(tmp_path / "x.npz", np.zeros((2, 3), np.float32))), *TWIN]) == 2
    assert "--seed" in capsys.readouterr().err
    assert main(["sample", str(tmp_path / "none.npz"), "--seed", "1"]) == 2
    assert main(["sample", str(tmp_path / "x.txt"), "--seed", "1"]) == 2
    assert ".safetensors" in capsys.readouterr().err


def test_seeds_of_another_length_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "x.npz", np.zeros((2, 3), np.float32), seeds=np.arange(3))
    assert main(["sample", str(path), *TWIN]) == 2
    assert "one for each row" in capsys.readouterr().err

"""`repro explain`: any row of a run folder, its arithmetic right and complete."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.result import RunResult
from repro import bundle
from repro.cli import main
from repro.report.folder import rows_parquet
from repro.run_json import run_to_json


def write(path: Path, run: RunResult) -> Path:
    files = {"run.json": run_to_json(run).encode(), "env.json": b"{}", "rows.parquet": rows_parquet(run)}
    bundle.write_folder(path, files)
    return path


@pytest.fixture
def folder(tmp_path: Path, run_result: RunResult) -> Path:
    return write(tmp_path / "x.repro", run_result)


def test_a_differing_row_shows_both_draws(folder: Path, capsys: pytest.CaptureFixture[str], hostile: str) -> None:
    assert main(["explain", str(folder), "--case", hostile, "--row", "2"]) == 0
    text = capsys.readouterr().out
    total, first, second = 2**31 - 3, 2**31 + 100, 1_000_000_000
    for number in (total, 2 * total, first, first % total, second):
        assert f"{number:,}" in text
    assert "2^31 - 3" in text
    assert "baseline 7, candidate 9" in text
    assert "rejected" in text
    assert "counterfactual" in text
    assert f"{2**31 + 100:,} rejected: not below {total:,}" in text


def test_an_equal_row_shows_its_draw(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(folder), "--row", "1"]) == 0
    text = capsys.readouterr().out
    assert "token 2 on both sides" in text
    assert "counterfactual" not in text


def test_json_is_the_row(folder: Path, capsys: pytest.CaptureFixture[str], run_result: RunResult) -> None:
    assert main(["explain", str(folder), "--row", "2", "--json"]) == 0
    attribution = run_result.cases[0].comparisons[0].attribution
    assert attribution is not None
    assert json.loads(capsys.readouterr().out) == attribution.rows[0]


@pytest.mark.parametrize("row", [-1, 4, 10**30])
def test_a_row_out_of_range_names_the_range(row: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(folder), "--row", str(row)]) == 2
    seen = capsys.readouterr()
    assert (seen.out, seen.err.count("\n")) == ("", 1)
    assert "give 0 to 3" in seen.err


def test_unknown_and_rowless_cases_name_those_with_rows(
    folder: Path, capsys: pytest.CaptureFixture[str], hostile: str
) -> None:
    for name in ("nothing", "plain/bits"):
        assert main(["explain", str(folder), "--case", name, "--row", "0"]) == 2
        line = capsys.readouterr().err
        assert name in line
        assert hostile in line
        assert line.count("\n") == 1


def test_several_cases_need_a_name(tmp_path: Path, run_result: RunResult, capsys: pytest.CaptureFixture[str]) -> None:
    again = replace(run_result.cases[0], name="again")
    path = write(tmp_path / "x.repro", replace(run_result, cases=(*run_result.cases, again)))
    assert main(["explain", str(path), "--row", "0"]) == 2
    assert "2 cases" in capsys.readouterr().err
    assert main(["explain", str(path), "--case", "again", "--row", "0"]) == 0


def test_a_run_without_draws_has_no_rows(
    tmp_path: Path, run_result: RunResult, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "x.repro", replace(run_result, cases=run_result.cases[1:]))
    assert main(["explain", str(path), "--row", "0"]) == 2
    assert "no row to show" in capsys.readouterr().err


def test_a_changed_folder_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.parquet").write_bytes(b"")
    assert main(["explain", str(folder), "--row", "0"]) == 2
    assert "rows.parquet was changed" in capsys.readouterr().err

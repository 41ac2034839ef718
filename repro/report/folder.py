"""The files of a run folder, made from a RunResult."""

from __future__ import annotations

import io
import json
from typing import Any

from harness.result import RunResult
from repro.environment import stamped
from repro.report.html import page
from repro.report.markdown import summary
from repro.report.verdict import verdict_json
from repro.report.view import view_of
from repro.run_json import run_to_json


def folder_files(run: RunResult) -> dict[str, bytes]:
    """File name -> content. All but env.json depend on `run` alone."""
    view = view_of(run)
    return {
        "run.json": run_to_json(run).encode(),
        "env.json": (json.dumps(stamped(), sort_keys=True, indent=1) + "\n").encode(),
        "rows.parquet": rows_parquet(run),
        "verdict.json": verdict_json(run).encode(),
        "report.html": page(run, view).encode(),
        "summary.md": summary(view).encode(),
    }


def rows_parquet(run: RunResult) -> bytes:
    """Every case's table of rows (evidence["rows"]) as one table, with the columns `case` and `row` in front."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [pa.table({"case": pa.array([], pa.string()), "row": pa.array([], pa.int64())})]
    for case in run.cases:
        columns: dict[str, list[Any]] = dict(case.evidence.get("rows", {}))
        if not columns:
            continue
        length = len(next(iter(columns.values())))
        columns.setdefault("row", list(range(length)))
        arrays = {name: _array(values) for name, values in columns.items() if name != "row"}
        index = pa.array(columns["row"], pa.int64())
        tables.append(pa.table({"case": pa.array([case.name] * length, pa.string()), "row": index, **arrays}))
    buffer = io.BytesIO()
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), buffer)
    return buffer.getvalue()


def _array(values: list[Any]) -> Any:
    import pyarrow as pa

    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    return pa.array(values, pa.uint64()) if whole and max(whole) >= 2**63 else pa.array(values)

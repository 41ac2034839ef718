"""Every code block of the README runs, the example runs through the command line, and its local links exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_blocks() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_a_batch_changes_a_matrix_product() -> None:
    space: dict[str, np.ndarray] = {}
    exec(compile(BLOCKS[0], "README.md", "exec"), space)
    difference = np.abs(space["alone"] - space["among_others"]).max()
    assert 0 < difference < 1e-2


def test_links_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert "://" in target or (ROOT / target).exists(), target


def test_the_own_kernel_example_runs(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "repro",
        "run",
        "--case",
        "real/k50p.9/*",
        "--candidate",
        "examples.own_kernel:sample",
    ]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "own.repro")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    assert "k50p.9" in done.stdout
    assert (tmp_path / "own.repro" / "report.html").exists()

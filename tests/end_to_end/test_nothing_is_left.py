"""Runs leave nothing behind on the machine: no process, descriptor, shared memory or temporary file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.command import BOUND_S, ROOT, THREE_STEPS, harness, write

pytestmark = pytest.mark.slow

CELLS = 40
LITTERED = 4


def _many_cells(*words: str) -> tuple[int, dict[str, Any]]:
    """Run the tool; its exit code and what it told."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "many_cells.py"), *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_many_cells_leave_nothing_behind():
    code, told = _many_cells(str(CELLS))
    assert (code, told["left"], told["outcomes"]) == (0, [], {"PASS": CELLS})


def test_a_file_that_cells_leave_outside_of_themselves_is_found():
    code, told = _many_cells(str(LITTERED), "--backend", "tests.backends.littering:backend")
    assert code == 1
    assert any("litter-" in each for each in told["left"])


@pytest.mark.parametrize("backend", ["reference", "torchrl"])
def test_a_run_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
):
    scenario = write(tmp_path / "three_steps.toml", THREE_STEPS.replace("thread", "process"))
    with tempfile.TemporaryDirectory() as temporary:  # pytest's own has too long a path for sockets
        monkeypatch.setenv("TMPDIR", temporary)
        done = harness("run", scenario, "--backend", backend, "--reports", tmp_path / "reports")
        left = os.listdir(temporary)
    assert (done.code, left) == (0, []), done.err


def test_a_long_path_for_temporary_files_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    scenario = write(tmp_path / "three_steps.toml", THREE_STEPS.replace("thread", "process"))
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    done = harness("run", scenario, "--backend", "torchrl", "--reports", tmp_path / "reports")
    assert (done.code, os.listdir(long)) == (0, []), done.err

"""What an adapter declares is held against what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command import THREE_STEPS, harness, record, write

pytestmark = pytest.mark.slow

MISHELD = "tests.backends.misheld:backend"
STALLED = """
title = "A writer that is slow in a row"
component = "storage"

[[steps]]
fault = "stall"
at = { role = "worker:0", op = "row", k = 1 }
for_s = 1.5

[[steps]]
do = "extend"

[[steps]]
do = "shutdown"
"""
FORKS = "tests.backends.forking"
AS_ASKED = 'transport = "thread"'


def _findings(root: Path, setup: str, backend: str) -> dict[str, str]:
    scenario = write(root / "three_steps.toml", THREE_STEPS.replace(AS_ASKED, setup))
    harness("run", scenario, "--backend", f"{FORKS}:{backend}", "--reports", root)
    (cell,) = record(root)["cells"]
    return {each["checker"]: each["text"] for each in cell["findings"]}


@pytest.mark.parametrize(
    ("setup", "backend", "said"),
    [
        (AS_ASKED, "says_threads", "transport=thread: worker 0 is process"),
        ('start_method = "spawn"', "says_spawned", "worker 0 is a fork of its owner"),
    ],
)
def test_who_forks_whatever_it_declares_is_told(
    tmp_path: Path, setup: str, backend: str, said: str
):
    assert said in _findings(tmp_path, setup, backend)["as_declared"]


def test_who_declares_that_it_forks_is_not(tmp_path: Path):
    assert "as_declared" not in _findings(tmp_path, 'transport = "process"', "backend")


def test_a_point_that_is_nowhere_is_told_by_the_check():
    done = harness("backends", "check", MISHELD)
    assert "holds.row.target: type object 'NumpyRing' has no attribute 'extent'" in done.out
    assert "the adapter's mistake" in done.out


def test_a_point_that_is_nowhere_is_no_failure_of_the_backend(tmp_path: Path):
    scenario = write(tmp_path / "slow_writer.toml", STALLED)
    harness("run", scenario, "--backend", MISHELD, "--reports", tmp_path)
    (cell,) = record(tmp_path)["cells"]
    assert cell["outcome"] == "HARNESS-ERROR"
    assert cell["reason"].startswith("TypeError: holds.row.target: ")

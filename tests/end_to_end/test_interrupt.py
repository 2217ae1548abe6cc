"""SIGINT ends a run early, and what was done is still reported."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.ports.clock import Deadline, pause
from tests.end_to_end.command import BOUND_S, ROOT, THREE_STEPS, record, write

pytestmark = pytest.mark.slow

ENDLESS = THREE_STEPS.replace("within_s = 1.0", "within_s = 60.0")


def test_a_run_that_is_interrupted_reports_what_was_done(tmp_path: Path):
    first = write(tmp_path / "a_first.toml", THREE_STEPS)
    second = write(tmp_path / "b_endless.toml", ENDLESS)
    words = [
        *("--backend", "tests.backends.serial:backend"),
        *("--backend", "tests.backends.hostile:deadlocks"),
        *("--jobs", "1", "--reports", str(tmp_path)),
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "harness", "run", str(first), str(second), *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        seen = ""
        while "HANG" not in seen and "PASS" not in seen:
            line = process.stderr.readline()
            assert line, seen
            seen += line
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=BOUND_S)
    assert process.returncode == 130
    assert "report:" in out
    found = record(tmp_path)
    assert found["interrupted"] is True
    assert 0 < len(found["cells"]) < 4
    assert (tmp_path / "latest" / "index.html").exists()


def test_a_second_interrupt_waits_for_no_guardian(tmp_path: Path):
    scenario = write(tmp_path / "endless.toml", ENDLESS)
    words = ["--backend", "tests.backends.hostile:stops_its_guardian", "--reports", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "harness", "run", str(scenario), *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        guardian = stopped(process.pid, Deadline.after(BOUND_S))
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            pause(0.2)  # else the two would be one
        process.communicate(timeout=20.0)  # a guardian has 30 s to clean up
    assert process.returncode == 130
    assert record(tmp_path)["cells"] == []
    assert not guardian.is_running()


def stopped(owner: int, deadline: Deadline) -> psutil.Process:
    """The first process below `owner` that is stopped."""
    while not deadline.expired:
        for each in psutil.Process(owner).children(recursive=True):
            if each.status() == psutil.STATUS_STOPPED:
                return each
        pause(0.02)
    raise AssertionError("nobody was stopped")

"""A run that is ended early, or cannot go on, still reports what was done."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.ports.clock import Deadline, pause
from tests.end_to_end.command import BOUND_S, ROOT, SERIAL, THREE_STEPS, harness, record, write

pytestmark = pytest.mark.slow

ENDLESS = THREE_STEPS.replace("within_s = 1.0", "within_s = 60.0")
DEADLOCKS = "tests.backends.hostile:deadlocks"


def signalled(number: int, until: str, *words: str | Path) -> tuple[int, str]:
    """Run `harness WORDS...`, send it a signal once its stderr says `until`: exit code and stdout."""
    with subprocess.Popen(
        [sys.executable, "-m", "harness", *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        seen = ""
        while until not in seen:
            line = process.stderr.readline()
            assert line, seen
            seen += line
        process.send_signal(number)
        out, _ = process.communicate(timeout=BOUND_S)
    return process.returncode, out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_reports_what_was_done(tmp_path: Path, number: int):
    first = write(tmp_path / "a_first.toml", THREE_STEPS)
    second = write(tmp_path / "b_endless.toml", ENDLESS)
    words = ("--backend", SERIAL, "--backend", DEADLOCKS, "--jobs", "1", "--reports", tmp_path)
    code, out = signalled(number, "PASS", "run", first, second, *words)
    assert code == 130
    assert "report:" in out
    found = record(tmp_path)
    assert found["interrupted"] is True
    assert 0 < len(found["cells"]) < found["planned"] == 4
    assert f"interrupted: {len(found['cells'])} of 4 cells run" in out.splitlines()
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
        process.send_signal(signal.SIGINT)
        told_to_end(guardian.pid, Deadline.after(BOUND_S))  # else the two might be one
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=BOUND_S)
    assert process.returncode == 130
    assert record(tmp_path)["cells"] == []
    (ending,) = (tmp_path / "latest" / "cells").rglob("ending.json")
    assert json.loads(ending.read_text())["error"] == "interrupted"  # not that it had 30 s, in vain
    assert not guardian.is_running()


def stopped(owner: int, deadline: Deadline) -> psutil.Process:
    """The first process below `owner` that is stopped."""
    while not deadline.expired:
        for each in psutil.Process(owner).children(recursive=True):
            if each.status() == psutil.STATUS_STOPPED:
                return each
        pause(0.02)
    raise AssertionError("nobody was stopped")


def told_to_end(pid: int, deadline: Deadline) -> None:
    """Wait until SIGTERM has been sent to a process that is stopped, and so cannot take it."""
    status = Path(f"/proc/{pid}/status")
    while not deadline.expired:
        (pending,) = re.findall(r"^ShdPnd:\s+(\w+)$", status.read_text(), re.MULTILINE)
        if int(pending, 16) >> signal.SIGTERM - 1 & 1:
            return
        pause(0.02)
    raise AssertionError("nobody told it to end")


def when_told(number: int, told: Path, *words: str | Path) -> tuple[int, str]:
    """Run `harness WORDS...`, send it a signal once a backend writes to `told`: exit code and stdout."""
    os.mkfifo(told)
    with subprocess.Popen(
        [sys.executable, "-m", "harness", *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(told.parent), "HARNESS_TEST_TOLD": str(told)},
    ) as process:
        told.read_text()
        process.send_signal(number)
        out, _ = process.communicate(timeout=BOUND_S)
    return process.returncode, out


def test_a_run_that_is_interrupted_in_its_first_cell_does_not_blame_the_backends(tmp_path: Path):
    path = write(tmp_path / "endless.toml", ENDLESS)
    words = ("run", path, "--backend", DEADLOCKS, "--reports", tmp_path / "reports")
    code, out = when_told(signal.SIGINT, tmp_path / "told", *words)
    assert code == 130
    assert "interrupted: 0 of 1 cells run" in out
    assert "nothing was judged" not in out


def test_a_check_that_is_terminated_leaves_nothing(tmp_path: Path):
    words = ("backends", "check", "tests.backends.importing:tells_and_hangs")
    code, _ = when_told(signal.SIGTERM, tmp_path / "told", *words)
    assert code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["told"]


def test_cells_that_cannot_be_written_end_the_run_but_not_its_report(tmp_path: Path):
    first = write(tmp_path / "a_first.toml", THREE_STEPS)
    second = write(tmp_path / "b_second.toml", THREE_STEPS.replace("times = 3", "times = 2"))
    words = ["--backend", SERIAL, "--backend", "tests.backends.hostile:removes_all_cells"]
    done = harness("run", first, second, *words, "--jobs", "1", "--reports", tmp_path)
    assert done.code == 3
    assert "2 PASS" in done.out
    assert "Traceback" not in done.err
    assert done.errors[-1].startswith("harness: cannot go on, 2 of 4 cells run: ")
    assert record(tmp_path)["failed"]


def test_a_report_that_cannot_be_written_is_one_line_beside_what_was_judged(tmp_path: Path):
    path = write(tmp_path / "three_steps.toml", THREE_STEPS)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))

    done = harness("run", path, "--backend", SERIAL, "--reports", tmp_path, before=limit)
    assert done.code == 3, done.out + done.err
    assert "1 PASS" in done.out
    assert done.errors[-1].startswith(f"harness: {tmp_path}/")
    assert ": the report cannot be written: " in done.errors[-1]
    assert "Traceback" not in done.err


@pytest.mark.parametrize("reports", ["a_file", "/proc/nowhere"])
def test_a_place_for_reports_that_is_none_is_one_line(tmp_path: Path, reports: str):
    path = write(tmp_path / "three_steps.toml", THREE_STEPS)
    write(tmp_path / "a_file", "")
    done = harness("run", path, "--backend", SERIAL, "--reports", tmp_path / reports)
    assert (done.code, len(done.errors)) == (64, 1)
    assert f"--reports: {tmp_path / reports}: cannot be written to" in done.err

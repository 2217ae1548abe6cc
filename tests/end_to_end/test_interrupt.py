"""SIGINT ends a run early, and what was done is still reported."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

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

"""The scripts in README.md run as they are printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script_with(words: str) -> str:
    [found] = [each for each in SCRIPT.findall((ROOT / "README.md").read_text()) if words in each]
    return str(found)


def run(script: str, directory: Path) -> str:
    path = directory / "curriculum.py"
    path.write_text(script)
    done = subprocess.run(
        [sys.executable, path],
        cwd=directory,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_curriculum_switches_every_env_without_a_worker_that_restarts(tmp_path):
    shown = run(script_with("update_env_params"), tmp_path)
    assert shown.splitlines() == [
        "2.0 [1, 1, 1, 1]",
        "5.0 [2, 2, 2, 2]",
        "10.0 [3, 3, 3, 3]",
    ]


def test_the_first_script_of_the_reference_runs(tmp_path):
    assert run(script_with("rand_step"), tmp_path) == ""

"""The hooks that guard every test of this folder, seen at work in a suite of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
HOOKS = """
from tests import leftovers
from tests.conftest import leaves_nothing_behind, pytest_runtest_makereport
leftovers.POLLS_MAX = 1
"""


def outcomes(folder: Path, test: str, **environment: str) -> str:
    """The closing line of a pytest run of one test module under the hooks of this folder."""
    (folder / "conftest.py").write_text(HOOKS)
    (folder / "test_planted.py").write_text(f"import os, pytest\n{test}\n")
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    run = subprocess.run(
        [*pytest_command, "-W", "ignore", "-c", os.devnull, str(folder)],
        env={**inherited, "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return run.stdout.splitlines()[-1].rsplit(" in ", 1)[0]


def test_a_test_that_leaves_something_fails(tmp_path: Path):
    assert outcomes(tmp_path, "def test_stray(): os.dup(0)") == "1 passed, 1 error"


def test_a_test_that_leaves_nothing_passes(tmp_path: Path):
    assert outcomes(tmp_path, "def test_tidy(): os.close(os.dup(0))") == "1 passed"


@pytest.mark.parametrize(
    ("marks", "ci", "expected"),
    [
        ("skip", "true", "1 error"),
        ("skip", "", "1 skipped"),
        ("gpu\n@pytest.mark.skip", "true", "1 skipped"),
        ("xfail", "true", "1 xfailed"),
    ],
)
def test_a_skip_fails_in_ci_unless_it_is_about_a_gpu(
    tmp_path: Path, marks: str, ci: str, expected: str
):
    test = f"@pytest.mark.{marks}\ndef test_absent(): assert not True"
    assert outcomes(tmp_path, test, CI=ci) == expected

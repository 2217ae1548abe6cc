"""A backend may live in an interpreter that has nothing of ours: no pydantic, no click, no torch."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.command import THREE_STEPS, harness, outcomes, record, write

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has numpy, and else the standard library alone."""
    root = tmp_path_factory.mktemp("bare")
    venv.create(root, with_pip=False, symlinks=True)
    python = root / "bin" / "python"
    site = next((root / "lib").glob("python*/site-packages"))
    packages = Path(np.__file__).parents[1]
    for path in packages.glob("numpy*"):
        (site / path.name).symlink_to(path)
    missing = "import importlib.util as u; print(u.find_spec('pydantic'), u.find_spec('torch'))"
    said = subprocess.run([python, "-I", "-c", missing], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["None", "None"]
    return python


def test_a_cell_runs_in_an_interpreter_of_its_own(bare: Path, tmp_path: Path):
    scenario = write(tmp_path / "three_steps.toml", THREE_STEPS)
    words = ("--backend", "tests.backends.serial:backend", "--python", bare)
    done = harness("run", scenario, *words, "--reports", tmp_path)
    assert done.code == 0, done.err
    assert list(outcomes(tmp_path).values()) == ["PASS"]
    assert str(bare) in record(tmp_path)["backends"][0]["python"]


def test_the_replay_line_carries_the_interpreter(bare: Path, tmp_path: Path):
    scenario = write(tmp_path / "three_steps.toml", THREE_STEPS)
    words = ("--backend", "tests.backends.hostile:raises", "--python", bare)
    done = harness("run", scenario, *words, "--reports", tmp_path)
    assert f"--python {bare}" in done.out


def test_a_backend_that_the_interpreter_lacks_is_one_line(bare: Path, tmp_path: Path):
    scenario = write(tmp_path / "three_steps.toml", THREE_STEPS)
    done = harness("run", scenario, "--backend", "torchrl", "--python", bare, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert "No module named 'torchrl'" in done.err

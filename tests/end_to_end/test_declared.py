"""What a backend says of its workers is held against what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command import THREE_STEPS, harness, record, write

pytestmark = pytest.mark.slow

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

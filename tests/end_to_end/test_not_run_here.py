"""A listed cell that needs what the machine does not have is not run, which says nothing of the list."""

from __future__ import annotations

import ctypes
from pathlib import Path

from tests.end_to_end.command import SERIAL, harness, outcomes, write

FILLED = """
title = "Steps while /dev/shm is full"
component = "pool"

[setup]
transport = "thread"

[[steps]]
do = "reset"

[[steps]]
fault = "full_shared_memory"

[[steps]]
do = "step"

[[steps]]
do = "shutdown"
"""
LISTED = """
[[cells]]
cell = "pool/steps_in_want[]"
outcome = "FAIL"
reason = "it wants room"
expires = "2"
"""
PR_CAPBSET_DROP, CAP_SYS_ADMIN = 24, 21  # linux/prctl.h, linux/capability.h


def unable_to_mount() -> None:
    """Have what this process executes lack the right to mount; who has it not is refused that, and lacks it too."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN)


def test_a_listed_cell_is_said_to_be_not_run_and_fails_nothing(tmp_path: Path, scenario: Path):
    filled = write(tmp_path / "scenarios" / "pool" / "steps_in_want.toml", FILLED)
    write(tmp_path / "scenarios" / "expected" / "serial.toml", LISTED)
    words = ("run", scenario, filled, "--backend", SERIAL, "--reports", tmp_path, "--strict")
    done = harness(*words, before=unable_to_mount)
    assert "not run here, listed as FAIL: pool/steps_in_want[]@serial-" in done.out
    assert "filling /dev/shm needs root, and the right to mount" in done.out
    assert done.code == 0
    assert sorted(outcomes(tmp_path).values()) == ["PASS", "UNSUPPORTED"]


def test_a_run_of_such_cells_alone_blames_no_backend(tmp_path: Path):
    filled = write(tmp_path / "scenarios" / "pool" / "steps_in_want.toml", FILLED)
    words = ("run", filled, "--backend", SERIAL, "--reports", tmp_path)
    done = harness(*words, before=unable_to_mount)
    assert "nothing was judged: this machine lacks what these rows need" in done.out
    assert done.code == 2

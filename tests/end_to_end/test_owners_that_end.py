"""Backends that end in order, in their own time or by their own hand, are not called defective for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command import harness, outcomes, write

pytestmark = pytest.mark.slow

KILLED = """
title = "The owner is killed while one env is slow"
component = "pool"

[setup]
num_envs = 2
transport = "process"

[[steps]]
do = "reset"

[[steps]]
do = "step"

[[steps]]
fault = "stall"
at = { role = "worker:0", op = "step", k = 1 }
for_s = 1.4

[[steps]]
fault = "signal_owner"
signal = "KILL"
at = { role = "worker:1", op = "step", k = 1 }

[[steps]]
do = "step"
"""
TERMINATED = """
title = "The owner is terminated after a step"
component = "pool"

[setup]
num_envs = 2
transport = "thread"

[[steps]]
do = "reset"

[[steps]]
fault = "signal_owner"
signal = "TERM"
at = { role = "driver", op = "step", edge = "after" }

[[steps]]
do = "step"

[[steps]]
do = "step"
"""


@pytest.mark.parametrize(
    ("text", "backend"), [(KILLED, "ends_at_end_of_file"), (TERMINATED, "handles_termination")]
)
def test_an_owner_that_ends_as_it_was_told_passes(tmp_path: Path, text: str, backend: str):
    scenario = write(tmp_path / "owner_that_ends.toml", text)
    named = f"tests.backends.parting:{backend}"
    done = harness("run", scenario, "--backend", named, "--reports", tmp_path / "reports")
    assert list(outcomes(tmp_path / "reports").values()) == ["PASS"], done.out

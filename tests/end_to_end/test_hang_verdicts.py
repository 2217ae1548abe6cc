"""A hung cell says which of its processes left its expected state first, and what it waits for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.end_to_end.command import harness, record, write

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hangs")]

HANGS = "tests.backends.forking_hangs"
SCENARIO = """
title = "Two steps return what the envs did"
component = "pool"

[setup]
transport = "process"
num_envs = 2

[[steps]]
do = "reset"

[[steps]]
do = "step"
times = 2
within_s = 1.0

[[steps]]
do = "shutdown"
within_s = 1.0

[expect]
outcome = "survives"
"""
# What the reason has to begin with, after the call that was open; N stands for a pid.
SAYS = {
    "worker_stopped": "worker 1 (pid N) is stopped",
    "worker_spins": "worker 1 (pid N) spins in WorkerSpins.works",
    "worker_in_a_lock": "worker 1 (pid N) waits for a lock in WorkerInALock.works",
    "worker_in_the_drivers_lock": "worker 1 (pid N) waits for a lock",
    "worker_sleeps": "worker 1 (pid N) sleeps in WorkerSleeps.works",
    "worker_dead": "worker 1 (pid N) is dead; the driver (pid N) waits to receive",
    "worker_killed_with_a_lock": "worker 1 (pid N) is dead",
    "worker_stopped_with_a_lock": "worker 1 (pid N) is stopped",
    "worker_sleeps_with_a_lock": "worker 1 (pid N) sleeps",
    "workers_lock_each_other": "worker [01] (pid N) waits for a lock",
    "worker_awaits_an_event": "worker 1 (pid N) waits to be notified in Event.wait",
    "worker_awaits_its_child": "process N, a child of worker 1, sleeps in",
    "worker_reads_another_pipe": "worker 1 (pid N) waits to receive, but not where the other",
    "worker_awaits_a_signal": "worker 1 (pid N) waits in WorkerAwaitsASignal.works",
    "worker_in_a_file_lock": "worker 1 (pid N) waits for a lock",
    "worker_floods_at_the_end": "worker 1 (pid N) waits to send in",
    "both_send": "worker 1 (pid N) waits to send in",
    "replies_are_lost": "the driver (pid N) waits to receive in _ConnectionBase.recv",
    "driver_never_asks": "the driver (pid N) waits to receive in _ConnectionBase.recv",
    "driver_in_a_lock": "the driver (pid N) waits for a lock in DriverInALock.between",
    "driver_in_a_threads_lock": "the driver (pid N) waits for a lock in DriverInAThreadsLock",
    "driver_spins": "the driver (pid N) spins",
    "driver_stopped": "the driver (pid N) is stopped",
    "driver_sleeps": "the driver (pid N) sleeps in DriverSleeps.between",
    "driver_joins_without_asking": "the driver (pid N) waits for something to end in",
}
KNOWN = 'cell = "pool/two_steps[]"\noutcome = "HANG"\nreason = "planted"\nexpires = "2"\n'


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One run of two steps against every planted hang, by the hang's name."""
    root = tmp_path_factory.mktemp("hangs")
    scenario = write(root / "pool" / "two_steps.toml", SCENARIO)
    for name in SAYS:  # what is listed is not run a second time to be confirmed
        write(root / "expected" / f"{name}.toml", f"[[cells]]\n{KNOWN}")
    named = [word for name in SAYS for word in ("--backend", f"{HANGS}:{name}")]
    done = harness("run", scenario, *named, "--jobs", "8", "--reports", root / "reports")
    assert done.code == 0, done.err
    found = record(root / "reports")["cells"]
    return {cell["backend"].removesuffix("-1"): cell for cell in found}


@pytest.mark.parametrize("name", SAYS)
def test_a_planted_hang_is_put_down_to_who_hangs_first(cells: dict[str, dict[str, Any]], name: str):
    pattern = re.sub(r"\bN\b", r"\\d+", re.escape(SAYS[name]).replace(r"\[01\]", "[01]"))
    reason = cells[name]["reason"]
    assert re.search(f"past its grace: {pattern}", reason), reason

"""A hung cell says which of its processes left its expected state first, and what it waits for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.end_to_end.command import harness, record, write

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hangs")]

PROCESSES, THREADS = "tests.backends.forking_hangs", "tests.backends.threading_hangs"
SCENARIO = """
title = "Two steps return what the envs did"
component = "pool"

[setup]
num_envs = 2

[matrix]
transport = ["process", "thread"]

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
    "worker_spins_in_c": "worker 1 (pid N) spins in",
    "worker_reads_a_queue": "worker 1 (pid N) waits to receive, but not where the other",
    "worker_in_a_threads_queue": "worker 1 (pid N) waits to receive, but not where the other",
    "worker_joins_a_thread": "worker 1 (pid N) waits for something to end in",
    "worker_in_an_import": "worker 1 (pid N) waits for a lock in",
    "worker_in_a_finalizer": "worker 1 (pid N) waits for a lock in _Knot.__del__",
    "worker_stopped_at_the_end": "worker 1 (pid N) is stopped",
    "driver_in_a_finalizer": "the driver (pid N) waits for a lock in _Knot.__del__",
    "thread_in_a_lock": "the driver (pid N) waits for a lock in ThreadInALock.works",
    "thread_sleeps": "the driver (pid N) sleeps in ThreadSleeps.works",
    "thread_spins": "the driver (pid N) spins in ThreadSpins.works",
    "thread_gone": "the driver (pid N) waits to receive in",
}
FROZEN = {
    "worker_stopped",
    "worker_stopped_with_a_lock",
    "worker_stopped_at_the_end",
    "driver_stopped",
}
SPINNING = {"worker_spins", "worker_spins_in_c", "driver_spins", "thread_spins"}
KNOWN = "".join(
    f'[[cells]]\ncell = "pool/two_steps[transport={transport}]"\n'
    'outcome = "HANG"\nreason = "planted"\nexpires = "2"\n'
    for transport in ("process", "thread")
)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One run of two steps against every planted hang, by the hang's name."""
    root = tmp_path_factory.mktemp("hangs")
    scenario = write(root / "pool" / "two_steps.toml", SCENARIO)
    for name in SAYS:  # what is listed is not run a second time to be confirmed
        write(root / "expected" / f"{name}.toml", KNOWN)
    named = [word for name in SAYS for word in ("--backend", f"{_module(name)}:{name}")]
    done = harness("run", scenario, *named, "--jobs", "8", "--reports", root / "reports")
    assert done.code == 0, done.err
    found = record(root / "reports")["cells"]
    ran = [cell for cell in found if cell["outcome"] != "UNSUPPORTED"]
    return {cell["backend"].removesuffix("-1"): cell for cell in ran}


def _module(name: str) -> str:
    return THREADS if name.startswith("thread") else PROCESSES


def _who_and_what(name: str, reason: str) -> bool:
    pattern = re.sub(r"\bN\b", r"\\d+", re.escape(SAYS[name]).replace(r"\[01\]", "[01]"))
    return re.search(f"past its grace: {pattern}", reason) is not None


def _kind(name: str) -> str:
    return "frozen" if name in FROZEN else "spinning" if name in SPINNING else "blocked"


@pytest.mark.parametrize("name", SAYS)
def test_a_planted_hang_is_put_down_to_who_hangs_first(cells: dict[str, dict[str, Any]], name: str):
    assert _who_and_what(name, cells[name]["reason"]), cells[name]["reason"]


@pytest.mark.parametrize("name", SAYS)
def test_a_planted_hang_is_of_its_kind(cells: dict[str, dict[str, Any]], name: str):
    assert cells[name]["hang"] == _kind(name), cells[name]["reason"]


def test_at_least_19_of_20_planted_hangs_are_judged_right(cells: dict[str, dict[str, Any]]):
    wrong = [
        f"{name}: {cells[name]['hang']}: {cells[name]['reason']}"
        for name in SAYS
        if cells[name]["hang"] != _kind(name) or not _who_and_what(name, cells[name]["reason"])
    ]
    right = len(SAYS) - len(wrong)
    assert right / len(SAYS) >= 19 / 20, "\n".join([f"{right} of {len(SAYS)}", *wrong])

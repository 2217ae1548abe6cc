"""What a fault excuses of the answers that are owed: what it can lose, and only its worker's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.checkers.routing import CHECKER
from tests.unit.harness.checkers.histories import sent_twice, texts


def test_what_a_killed_worker_owed_is_excused():
    pool = sent_twice()
    pool.recorder.fault("f1", "reached")
    pool.queues[1].pop(0)
    pool.recv()
    assert texts(CHECKER.check(pool.history(faults=[("signal", "f1")]))) == []


@pytest.mark.parametrize(
    "fault", ["delay_transfer", "duplicate_transfer", "one_processor", "limit", "stop"]
)
def test_a_fault_that_loses_nothing_excuses_nothing(fault: str):
    pool = sent_twice()
    pool.recorder.fault("f1", "reached")
    pool.recorder.fault("f1", "effect")
    invoked = pool.recorder.invoke("recv", timeout_s=None, min_get=2)
    pool.recorder.ok(invoked, rows=[pool.queues[0].pop(0)])
    found = texts(CHECKER.check(pool.history(faults=[(fault, "f1")])))
    assert len(found) == 1
    assert "returned 1 results, and had to get 2" in found[0]


def test_what_a_killed_worker_owed_does_not_excuse_the_others():
    pool = sent_twice()
    pool.recorder.fault("f1", "reached", worker=1)
    pool.queues[0].pop(0)
    pool.recv()
    found = texts(CHECKER.check(pool.history(faults=[("signal", "f1")])))
    assert "it answers request 102 before 100" in found[0]


@pytest.mark.parametrize("payload", ["batched", "grouped"])
def test_what_a_worker_owed_for_several_envs_is_excused_for_all(payload: str):
    pool = sent_twice()
    pool.recorder.fault("f1", "reached", worker=1)
    pool.queues[0].pop(0)
    pool.recv()
    history = pool.history(faults=[("signal", "f1")])
    shared = replace(history, setup={**history.setup, "payload": payload})
    assert texts(CHECKER.check(shared)) == []


def test_what_a_stalled_worker_owes_is_not_excused():
    pool = sent_twice()
    pool.recorder.fault("f1", "reached")
    pool.queues[1].pop(0)
    pool.recv()
    found = texts(CHECKER.check(pool.history(faults=[("stall", "f1")])))
    assert "it answers request 103 before 101" in found[0]


@pytest.mark.parametrize(
    ("fault", "found"), [("signal", 0), ("kill", 0), ("exit", 0), ("raise", 1)]
)
def test_what_neighbours_of_a_struck_env_owed_is_excused_if_the_fault_takes_their_worker(
    fault: str, found: int
):
    pool = sent_twice()
    pool.recorder.fault("f1", "reached", worker=1)
    pool.queues[0].pop(0)
    pool.recv()
    history = pool.history(faults=[(fault, "f1")])
    shared = replace(history, setup={**history.setup, "envs_per_worker": 2})
    assert len(texts(CHECKER.check(shared))) == found
    in_threads = replace(shared, setup={**shared.setup, "transport": "thread"})
    assert len(texts(CHECKER.check(in_threads))) == 1

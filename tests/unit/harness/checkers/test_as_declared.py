"""Workers are what the row asks for, as their own probes see it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.checkers.as_declared import CHECKER
from tests.unit.harness.checkers.histories import PID, Recorder, texts

OTHERS = (PID + 1, PID + 2)


def seen(*pids: int, told: tuple[int, ...] | None = OTHERS, op: str = "reset", **data: Any):
    """A pool that was built, and an env in each of these processes that then did something."""
    recorder = Recorder()
    said: dict[str, Any] = {} if told is None else {"pids": list(told)}
    recorder.ok(recorder.invoke("construct"), **said)
    for worker, pid in enumerate(pids):
        recorder.events.append(replace(recorder.observe(worker, op, **data), pid=pid))
        del recorder.events[-2]
    return recorder


def found(recorder: Recorder, **setup: Any) -> list[str]:
    whole = {"transport": "process", "start_method": "fork", **setup}
    judgement = CHECKER.check(recorder.history(setup=whole))
    assert judgement.judged
    return texts(judgement)


def test_workers_that_are_as_asked_for_pass():
    assert found(seen(*OTHERS)) == []
    assert found(seen(PID, PID, told=()), transport="thread") == []
    assert found(seen(*OTHERS, fresh=True), start_method="spawn") == []


def test_threads_that_are_processes_are_found():
    assert found(seen(*OTHERS), transport="thread") == [
        f"transport=thread: worker 0 is process {PID + 1}, not {PID}"
    ]


def test_processes_that_are_threads_are_found():
    assert found(seen(PID, PID)) == [f"transport=process: worker 0 is in its owner's process {PID}"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_forks_where_new_interpreters_are_asked_for_are_found(method: str):
    assert found(seen(*OTHERS), start_method=method) == [
        f"start_method={method}: worker 0 is a fork of its owner"
    ]


def test_new_interpreters_where_forks_are_asked_for_are_found():
    assert found(seen(*OTHERS, fresh=True)) == [
        "start_method=fork: worker 0 is an interpreter of its own"
    ]


@pytest.mark.parametrize(("told", "first"), [(OTHERS[::-1], PID + 2), ((), None)])
def test_processes_that_are_named_wrongly_are_found(told: tuple[int, ...], first: int | None):
    assert found(seen(*OTHERS, told=told)) == [
        f"worker_pids says {first} of worker 0, which is {PID + 1}"
    ]


@pytest.mark.parametrize("setup", [{"on_worker_failure": "restart"}, {"payload": "grouped"}])
def test_names_are_not_judged_where_workers_are_replaced_or_children_are_of_several(
    setup: dict[str, str],
):
    assert found(seen(*OTHERS, told=()), **setup) == []


def test_a_pool_that_is_built_anew_may_have_others():
    recorder = seen(*OTHERS)
    recorder.call("rebuild")
    later = seen(PID + 3, PID + 4).events[-2:]
    recorder.events += [
        replace(event, seq=len(recorder.events) + i) for i, event in enumerate(later)
    ]
    assert found(recorder) == []


@pytest.mark.parametrize("recorder", [seen(), seen(PID, PID, op="construct")], ids=["none", "made"])
def test_nothing_is_known_of_workers_that_nobody_saw_at_work(recorder: Recorder):
    assert not CHECKER.applies(recorder.history())


def test_it_applies_to_whoever_was_seen():
    assert CHECKER.applies(seen(*OTHERS).history())
    assert CHECKER.applies(replace(seen(*OTHERS, op="forward").history(), component="weights"))

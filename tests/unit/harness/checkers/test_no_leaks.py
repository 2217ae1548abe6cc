"""What the driver's process holds is after as it was before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.checkers.no_leaks import CHECKER
from harness.model.history import Ending, Kind, Leftover
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import Recorder, contracts, texts

LEFTOVERS = (
    Leftover(kind="process", name="python (pid 7)"),
    Leftover(kind="shm", name="psm_1"),
    Leftover(kind="file", name="lock"),
)
BEFORE = {
    "fds": {"pipe:[1]": 1, "anon_inode:[eventfd]": 2},
    "threads": ["MainThread", "gate"],
    "children": [{"pid": 5, "name": "forkserver"}],
    "shm": ["old"],
}


def counted(**after) -> Recorder:
    recorder = Recorder()
    recorder.census("opening", **BEFORE)
    recorder.call("shutdown")
    recorder.census("closing", **{**BEFORE, **after})
    return recorder


def test_nothing_left_behind_passes():
    judgement = CHECKER.check(counted().history())
    assert (judgement.findings, judgement.judged) == ((), 1)


def test_less_than_before_passes():
    recorder = counted(fds={}, threads=["MainThread"], children=[], shm=[])
    assert texts(CHECKER.check(recorder.history())) == []


def test_a_history_without_a_closing_census_is_no_evidence():
    recorder = Recorder()
    recorder.census("opening")
    assert CHECKER.check(recorder.history()).judged == 0


@pytest.mark.parametrize(
    ("after", "text"),
    [
        (
            {"fds": {"pipe:[1]": 1, "anon_inode:[eventfd]": 5, "/dev/null": 9, "socket:[4]": 1}},
            "file descriptors left behind: 3 more open on anon_inode:[eventfd]; "
            "1 more open on socket:[4]",
        ),
        (
            {"threads": ["MainThread", "gate", "gate", "QueueFeederThread"]},
            "threads left behind: 1 more named QueueFeederThread; 1 more named gate",
        ),
        (
            {"children": [{"pid": 5, "name": "forkserver"}, {"pid": 6, "name": "worker"}]},
            "child processes left behind: worker (pid 6)",
        ),
        ({"shm": ["old", "psm_2", "psm_1"]}, "names in shared memory left behind: psm_1; psm_2"),
        ({"shm": ["old", "sem.mp-a"]}, "named semaphores left behind: sem.mp-a"),
        (
            {"mappings": {"/dev/shm/torch_1 (deleted)": 2}},
            "mappings of shared memory left behind: 2 of /dev/shm/torch_1 (deleted)",
        ),
        ({"files": ["b/c", "b"]}, "temporary files left behind: b; b/c"),
    ],
)
def test_what_is_left_behind_is_found(after, text):
    (finding,) = CHECKER.check(counted(**after).history()).findings
    assert finding.text == text
    assert (finding.contract, finding.leak) == (Contract.LIVENESS, True)
    assert finding.events == (0, 3)


def test_what_outlives_the_driver_is_found():
    judgement = CHECKER.check(Recorder().history(leftovers=LEFTOVERS))
    assert texts(judgement) == [
        "the process python (pid 7) was still there after the driver had left",
        "in shared memory, the name psm_1 was still there after the driver had left",
        "the temporary file lock was still there after the driver had left",
    ]
    assert all(finding.leak for finding in judgement.findings)
    assert judgement.judged == 3


@pytest.mark.parametrize("op", ["construct", "replace"])
def test_what_a_failed_constructor_leaves_is_found(op):
    recorder = Recorder()
    recorder.census("opening")
    recorder.failing(op)
    recorder.census("closing", threads=["MainThread", "env-0"])
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.leak
    assert finding.text == (
        f"{op} (request 1) raised, and nobody can close what it left: "
        "threads left behind: 1 more named env-0"
    )


def test_a_failed_constructor_that_leaves_nothing_passes():
    recorder = Recorder()
    recorder.census("opening")
    recorder.failing("construct")
    recorder.census("closing")
    judgement = CHECKER.check(recorder.history())
    assert (texts(judgement), judgement.judged) == ([], 1)


def left(ending: Ending, *tracked: str) -> Recorder:
    """A script that has ended without closing."""
    recorder = Recorder()
    ended = {"exit_code": 0} if ending.signal is None else {"signal": ending.signal}
    recorder.ok(recorder.invoke("leave", how="return", code=None), **ended)
    said = {"bytes": 0, "tracebacks": 0, "raised": [], "ignored": [], "tracked": list(tracked)}
    recorder.write(Kind.NOTE, "aftermath", role="guardian", bound_s=10.0, processes=[], stderr=said)
    return recorder


def test_who_leaves_without_closing_leaves_no_names_and_no_files():
    ending = Ending(exit_code=0)
    history = left(ending).history(leftovers=LEFTOVERS, ending=ending)
    assert texts(CHECKER.check(history)) == [
        "in shared memory, the name psm_1 was still there after the driver had left",
        "the temporary file lock was still there after the driver had left",
    ]


def test_whom_a_signal_has_ended_may_leave_files():
    ending = Ending(signal=9)
    recorder = left(ending)
    recorder.fault("f1", "effect")
    history = recorder.history(faults=[("signal_owner", "f1")], leftovers=LEFTOVERS, ending=ending)
    killed = replace(history, faults=({"fault": "signal_owner", "id": "f1", "signal": "KILL"},))
    assert texts(CHECKER.check(killed)) == [
        "in shared memory, the name psm_1 was still there after the driver had left"
    ]


@pytest.mark.parametrize(
    ("ending", "found"),
    [(Ending(exit_code=0), 1), (Ending(exit_code=0, finished=True), 1), (Ending(signal=9), 0)],
)
def test_what_the_resource_tracker_had_to_clean_up_was_left_behind(ending: Ending, found: int):
    told = "There appear to be 1 leaked shared_memory objects to clean up at shutdown"
    findings = CHECKER.check(left(ending, told).history(ending=ending)).findings
    assert [each.text for each in findings] == [f"left to the resource tracker: {told}"] * found
    assert all(each.leak for each in findings)


def test_of_many_things_left_behind_the_first_are_named():
    (finding,) = CHECKER.check(counted(shm=[f"s{i:02}" for i in range(25)]).history()).findings
    assert finding.text.endswith("s18; s19; and 5 more")


@pytest.mark.parametrize(
    "ending",
    [
        Ending(ended_by_us=True, hang="blocked"),
        Ending(signal=11),
        Ending(finished=True, ended_by_us=True),
        Ending(finished=True, hang="blocked"),
        Ending(finished=True, signal=9),
        Ending(exit_code=1),
    ],
)
def test_what_a_broken_off_driver_leaves_is_a_consequence(ending):
    judgement = CHECKER.check(Recorder().history(leftovers=LEFTOVERS, ending=ending))
    assert (judgement.findings, judgement.judged) == ((), 0)


@pytest.mark.parametrize("verbs", [["replace"], ["replace", "shutdown"], []])
def test_a_backend_that_promises_to_release_nothing_by_itself_is_only_told(verbs):
    recorder = Recorder()
    recorder.census("opening", **BEFORE)
    for verb in verbs:
        recorder.call(verb)
    recorder.census("closing", **{**BEFORE, "shm": ["new"]})
    history = recorder.history(properties={"closes_by_itself": False})
    assert contracts(CHECKER.check(history)) == [Contract.OPINION]


def test_a_backend_that_was_closed_owes_a_clean_end_whatever_it_promises():
    history = counted(shm=["new"]).history(properties={"closes_by_itself": False})
    assert contracts(CHECKER.check(history)) == [Contract.LIVENESS]


@pytest.mark.parametrize(
    ("after", "time"),
    [
        ({"fds": {"pipe:[1]": 3}}, True),
        ({"threads": ["MainThread", "gate", "feeder"]}, True),
        ({"children": [{"pid": 5, "name": "f"}, {"pid": 6, "name": "worker"}]}, True),
        ({"shm": ["old", "psm_1"]}, False),
    ],
)
def test_what_may_only_be_late_has_to_be_confirmed_by_a_run_alone(after, time):
    (finding,) = CHECKER.check(counted(**after).history()).findings
    assert finding.time is time
    found = CHECKER.check(Recorder().history(leftovers=LEFTOVERS)).findings
    assert [finding.time for finding in found] == [True, False, False]

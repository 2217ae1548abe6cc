"""What the driver's process holds is after as it was before."""

from __future__ import annotations

import pytest

from harness.checkers.no_leaks import CHECKER
from harness.model.history import Ending, Leftover
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

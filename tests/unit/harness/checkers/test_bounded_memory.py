"""What is in flight has a bound, and what a cell holds does not grow with use."""

from __future__ import annotations

import pytest

from harness.checkers.bounded_memory import CHECKER
from tests.unit.harness.checkers.histories import HonestPool, Recorder, texts

HELD = {"fds": 9, "threads": 2, "mappings": 500, "rss_kb": 9000}


def marked(*counts: dict[str, int], shm: int = 0, files: int = 0, processes: int = 0) -> Recorder:
    """A history with a mark for each of these counts; `shm` and the others are how many more each time."""
    recorder = Recorder()
    for number, more in enumerate(counts):
        recorder.invoke("mark")
        every = [{"pid": 1, **HELD, **more}, {"pid": 2}, *[{"pid": 3}] * (number * processes)]
        held = {"shm": ["a"] * (number * shm), "files": ["b"] * (number * files)}
        recorder.census("mark", processes=every, **held)
    return recorder


def sent(recorder: Recorder, *, taken: bool = True) -> None:
    invoked = recorder.invoke("send", actions=[1, 2], refusable=True)
    if taken:
        recorder.ok(invoked)
    else:
        recorder.fail(invoked, "env 0 is busy")


def test_the_same_at_every_mark_passes():
    judgement = CHECKER.check(marked({}, {}, {}).history())
    assert (judgement.findings, judgement.judged) == ((), 7)


def test_two_marks_are_no_evidence():
    assert CHECKER.check(marked({}, {"fds": 99}).history()).judged == 0


@pytest.mark.parametrize(
    ("key", "values", "text"),
    [
        ("fds", (9, 10, 11), "file descriptors grow from mark to mark: 9, 10, 11"),
        ("threads", (2, 4, 6), "threads grow from mark to mark: 2, 4, 6"),
        ("mappings", (500, 513, 526), "mappings grow from mark to mark: 500, 513, 526"),
        ("rss_kb", (1, 1500, 3000), "kB of resident memory grow from mark to mark: 1, 1500, 3000"),
    ],
)
def test_growth_from_mark_to_mark_is_found(key: str, values: tuple[int, ...], text: str):
    judgement = CHECKER.check(marked(*({key: value} for value in values)).history())
    assert texts(judgement) == [text]
    assert judgement.findings[0].leak


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("shm", "names in shared memory grow from mark to mark: 0, 2, 4"),
        ("files", "temporary files grow from mark to mark: 0, 2, 4"),
        ("processes", "processes grow from mark to mark: 2, 4, 6"),
    ],
)
def test_more_and_more_of_what_has_a_name_is_found(kind: str, text: str):
    assert texts(CHECKER.check(marked({}, {}, {}, **{kind: 2}).history())) == [text]


@pytest.mark.parametrize(
    "values",
    [(20, 30, 31), (20, 30, 33, 36, 39), (20, 20, 30), (20, 22, 22, 24, 24, 26), (20, 19, 30)],
    ids=str,
)
def test_what_is_counted_may_not_grow_at_all_after_the_second_mark(values: tuple[int, ...]):
    judgement = CHECKER.check(marked(*({"fds": value} for value in values)).history())
    assert texts(judgement) == [
        f"file descriptors grow from mark to mark: {', '.join(map(str, values))}"
    ]


@pytest.mark.parametrize(
    "values", [(9, 20, 20), (9, 20, 19), (9, 20, 25, 20), (9, 20, 25, 22)], ids=str
)
def test_growth_that_comes_to_an_end_is_none(values: tuple[int, ...]):
    judgement = CHECKER.check(marked(*({"fds": value} for value in values)).history())
    assert texts(judgement) == []


def test_little_growth_of_what_an_allocator_rules_is_none():
    history = marked({}, {"mappings": 512, "rss_kb": 9500}, {"mappings": 524, "rss_kb": 10_000})
    assert texts(CHECKER.check(history.history())) == []


def test_a_send_that_is_refused_passes():
    recorder = Recorder()
    sent(recorder)
    sent(recorder, taken=False)
    judgement = CHECKER.check(recorder.history())
    assert (judgement.findings, judgement.judged) == ((), 2)


def test_a_send_beyond_the_bound_that_is_taken_is_found():
    recorder = Recorder()
    for _ in range(3):
        sent(recorder)
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text == (
        "send (request 4) was taken with 3 steps of an env in flight and nothing received: "
        "at most 1 may be"
    )
    assert finding.events == (2, 3, 4, 5)


def test_the_bound_is_what_the_backend_declares():
    recorder = Recorder()
    for _ in range(3):
        sent(recorder)
    assert texts(CHECKER.check(recorder.history(properties={"in_flight_max": 3}))) == []


def test_what_was_received_is_no_longer_in_flight():
    pool = HonestPool()
    pool.reset()
    pool.send()
    pool.recv()
    sent(pool.recorder)
    assert texts(CHECKER.check(pool.history())) == []


def test_sends_that_have_to_be_taken_are_not_judged():
    pool = HonestPool()
    pool.reset()
    pool.send()
    pool.send()
    assert not CHECKER.applies(pool.history())

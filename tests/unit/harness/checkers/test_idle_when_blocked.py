"""Whoever waits uses at most a fiftieth of a core."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.checkers.idle_when_blocked import CHECKER
from harness.model.history import Kind
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import PID, Recorder, texts

WORKER, OTHER = PID + 1, PID + 2


def measured(
    cpu_s: float, seconds: float = 1.2, occasion: str = "idle", pid: int = PID
) -> Recorder:
    """A history in which one process used so much, and another nothing."""
    recorder = Recorder()
    recorder.observe(1, "construct")
    recorder.events[-1] = replace(recorder.events[-1], pid=WORKER)
    recorder.call("idle")
    recorder.invoke("step", actions=[1, 2])
    used = [{"pid": pid, "cpu_s": cpu_s}, {"pid": OTHER, "cpu_s": 0.0}]
    recorder.write(
        Kind.OBSERVE,
        "processor",
        role="guardian",
        occasion=occasion,
        seconds=seconds,
        processes=used,
    )
    return recorder


def test_next_to_nothing_passes():
    judgement = CHECKER.check(measured(0.02).history())
    assert (judgement.findings, judgement.judged) == ((), 2)


@pytest.mark.parametrize(
    ("pid", "occasion", "text"),
    [
        (PID, "idle", "the driver used 50% of a core for 1.2 s while nobody had anything to do"),
        (WORKER, "idle", "worker 1 used 50% of a core for 1.2 s while nobody had anything to do"),
        (
            PID,
            "f1",
            "the driver used 50% of a core for 1.2 s while an env was slow (f1) in step (request 3)",
        ),
        (OTHER, "idle", "a process used 50% of a core for 1.2 s while nobody had anything to do"),
    ],
)
def test_a_busy_wait_is_found(pid: int, occasion: str, text: str):
    (finding,) = CHECKER.check(measured(0.6, occasion=occasion, pid=pid).history()).findings
    assert (finding.text, finding.contract, finding.time) == (text, Contract.LIVENESS, True)


def test_a_little_more_than_a_fiftieth_is_found():
    assert len(texts(CHECKER.check(measured(0.025).history()))) == 1


def test_what_was_measured_over_less_than_a_second_is_no_evidence():
    assert CHECKER.check(measured(0.9, seconds=0.9).history()).judged == 0


def test_a_history_without_a_measurement_is_no_evidence():
    recorder = Recorder()
    recorder.call("idle")
    assert CHECKER.check(recorder.history()).judged == 0


@pytest.mark.parametrize(("for_s", "applies"), [(1.4, True), (0.0, False)])
def test_it_applies_where_an_env_is_slow_for_a_given_time(for_s, applies):
    recorder = Recorder()
    recorder.call("step")
    stall = {"fault": "stall", "id": "f1", "for_s": for_s}
    assert CHECKER.applies(replace(recorder.history(), faults=(stall,))) is applies

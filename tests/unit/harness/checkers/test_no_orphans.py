"""No process that a pool started outlives its owner beyond the bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.checkers.no_orphans import CHECKER
from harness.model.history import Ending, History, Kind
from tests.unit.harness.checkers.histories import PID, Recorder

KILLED = Ending(signal=9)
FAULT = (("signal_owner", "f1"),)


def killed(*processes: dict[str, Any], pid: int = PID + 1, ending: Ending = KILLED) -> History:
    """An owner that was killed, and what was left of its one worker."""
    recorder = Recorder()
    recorder.call("construct")
    seen = recorder.observe(0, "construct")
    recorder.events[-1] = replace(seen, pid=pid)
    recorder.write(
        Kind.NOTE, "aftermath", role="guardian", bound_s=10.0, processes=list(processes), stderr={}
    )
    return recorder.history(faults=FAULT, ending=ending)


def process(pid: int, outlived_s: float | None) -> dict[str, Any]:
    return {"pid": pid, "command": "python -c worker", "outlived_s": outlived_s}


def test_a_worker_that_ends_soon_after_its_owner_passes():
    judgement = CHECKER.check(killed(process(PID + 1, 0.2)))
    assert (judgement.findings, judgement.judged) == ((), 1)


def test_a_worker_that_stays_is_found_by_its_number():
    (finding,) = CHECKER.check(killed(process(PID + 1, None))).findings
    assert finding.text == f"worker 0 (pid {PID + 1}) was still there 10 s after its owner"
    assert finding.time  # it may be slow only


def test_a_helper_that_stays_is_found_by_its_command():
    (finding,) = CHECKER.check(killed(process(99, None))).findings
    assert finding.text.startswith("process 99 (python -c worker) was still there")


def test_a_cell_that_had_to_be_ended_is_no_evidence():
    judgement = CHECKER.check(killed(process(PID + 1, None), ending=Ending(ended_by_us=True)))
    assert (judgement.findings, judgement.judged) == ((), 0)


def test_an_owner_whose_end_nobody_saw_is_no_evidence():
    recorder = Recorder()
    recorder.call("construct")
    assert CHECKER.check(recorder.history(faults=FAULT)).judged == 0


def test_it_does_not_apply_to_threads():
    assert CHECKER.applies(killed())
    assert not CHECKER.applies(killed(pid=PID))

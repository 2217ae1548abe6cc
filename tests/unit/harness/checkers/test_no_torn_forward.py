"""One forward sees one weights version."""

from __future__ import annotations

import pytest

from harness.checkers.no_torn_forward import CHECKER
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import Recorder


def test_whole_forwards_pass():
    recorder = Recorder("weights")
    recorder.forward((1, 1, 1), (2, 2, 2))
    judgement = CHECKER.check(recorder.history())
    assert (judgement.findings, judgement.judged) == ((), 2)


def test_a_history_without_a_forward_that_returned_is_no_evidence():
    recorder = Recorder("weights")
    recorder.failing("forward")
    recorder.call("send", version=2)
    assert CHECKER.check(recorder.history()).judged == 0


@pytest.mark.parametrize("stamp", [(2, 1, 1), (1, 2, 1), (1, 1, 2)])
def test_a_torn_forward_is_found(stamp):
    recorder = Recorder("weights")
    recorder.forward((1, 1, 1), stamp)
    (finding,) = CHECKER.check(recorder.history()).findings
    first, last, buffer = stamp
    assert finding.text == (
        f"forward (request 0) of worker 1 read version {first} at the start of the parameter, "
        f"{last} at its end and {buffer} in the buffer"
    )
    assert (finding.contract, finding.events) == (Contract.EQUIVALENCE, (0, 1))


def test_all_forwards_of_a_race_are_judged_and_a_torn_one_tells_how_many_there_were():
    recorder = Recorder("weights")
    row = {"worker": 1, "first": 2, "last": 3, "buffer": 3}
    recorder.ok(recorder.invoke("race", sends=3), forwards=40, torn=2, rows=[row])
    judgement = CHECKER.check(recorder.history())
    assert judgement.judged == 40
    (finding,) = judgement.findings
    assert finding.text.endswith("and 3 in the buffer: one of 2 torn forwards of 40")


def test_a_worker_that_a_forward_has_no_row_of_is_found():
    recorder = Recorder("weights")
    recorder.forward((1, 1, 1), (1, 1, 1))
    recorder.forward((1, 1, 1))
    (finding,) = CHECKER.check(recorder.history(setup={"num_workers": 2})).findings
    assert finding.text == "forward (request 2) has no row of workers [1]"
    assert (finding.contract, finding.events) == (Contract.EQUIVALENCE, (2, 3))


def test_a_forward_of_some_workers_owes_rows_of_those():
    recorder = Recorder("weights")
    row = {"worker": 1, "first": 1, "last": 1, "buffer": 1}
    recorder.ok(recorder.invoke("forward", workers=[1]), rows=[row])
    assert CHECKER.check(recorder.history(setup={"num_workers": 2})).findings == ()

"""Closing ends within its deadline and without an error."""

from __future__ import annotations

import pytest

from harness.checkers.bounded_shutdown import CHECKER
from harness.model.history import Ending
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import Recorder

ENDINGS = pytest.mark.parametrize("op", ["shutdown", "collect_garbage", "release"])


@ENDINGS
def test_a_clean_close_passes(op):
    recorder = Recorder()
    recorder.call(op)
    recorder.call(op)
    judgement = CHECKER.check(recorder.history())
    assert (judgement.findings, judgement.judged) == ((), 2)


def test_a_history_that_never_came_to_its_shutdown_is_no_evidence():
    recorder = Recorder()
    recorder.call("reset", after_s=60.0)
    assert CHECKER.check(recorder.history()).judged == 0


@ENDINGS
def test_a_late_close_is_found_and_is_about_time_only(op):
    recorder = Recorder()
    recorder.call(op, after_s=6.0)
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text == f"{op} (request 0) took 6.00 s, and had 5.00 s"
    assert (finding.contract, finding.time) == (Contract.LIVENESS, True)


@ENDINGS
def test_a_close_that_never_ends_is_found(op):
    recorder = Recorder()
    recorder.invoke(op)
    ending = Ending(ended_by_us=True, hang="spinning")
    (finding,) = CHECKER.check(recorder.history(ending=ending)).findings
    assert finding.text.endswith("(hang: spinning)")
    assert finding.contract is Contract.LIVENESS


def test_a_close_that_raises_is_found():
    recorder = Recorder("weights")
    recorder.failing("shutdown", "handle is closed")
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text == (
        "close must be clean, but shutdown (request 0) raised RuntimeError: handle is closed"
    )
    assert finding.contract is Contract.LIVENESS


def test_it_applies_where_garbage_collection_does_the_closing():
    recorder = Recorder()
    recorder.call("reset")
    assert not CHECKER.applies(recorder.history())
    recorder.call("collect_garbage")
    assert CHECKER.applies(recorder.history())


def test_it_applies_only_to_components_it_knows():
    recorder = Recorder("another")
    recorder.call("shutdown")
    assert not CHECKER.applies(recorder.history())

"""Every call ends within its deadline, and a timeout is kept."""

from __future__ import annotations

import pytest

from harness.checkers.bounded_calls import CHECKER
from harness.model.history import Ending
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import Recorder, texts

HUNG = Ending(ended_by_us=True, hang="blocked")


def test_calls_within_their_deadlines_pass():
    recorder = Recorder()
    recorder.call("reset")
    recorder.call("step", after_s=4.9)
    recorder.failing("step")
    recorder.call("shutdown", after_s=60.0)
    judgement = CHECKER.check(recorder.history())
    assert judgement.findings == ()
    assert judgement.judged == 3


def test_a_history_of_shutdowns_is_no_evidence():
    recorder = Recorder()
    recorder.call("shutdown")
    recorder.call("collect_garbage")
    assert CHECKER.check(recorder.history()).judged == 0


def test_a_late_call_is_found_and_is_about_time_only():
    recorder = Recorder("weights")
    recorder.call("forward", after_s=5.5)
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text == "forward (request 0) took 5.50 s, and had 5.00 s"
    assert finding.contract is Contract.LIVENESS
    assert finding.time


def test_a_call_that_never_ends_is_found_with_its_kind_of_hang():
    recorder = Recorder()
    recorder.invoke("step")
    (finding,) = CHECKER.check(recorder.history(ending=HUNG)).findings
    assert finding.text == (
        "step (request 0) had not ended after its deadline of 5.00 s and the grace (hang: blocked)"
    )
    assert finding.contract is Contract.LIVENESS
    assert finding.time  # how long one waits: a run alone has to show it again


def test_a_call_that_was_open_for_a_short_time_when_another_hung_is_not_blamed():
    recorder = Recorder()
    recorder.invoke("recv", deadline_s=5.0)
    recorder.write(recorder.events[0].kind, "step", request=1, after_s=6.0, deadline_s=5.0)
    assert len(CHECKER.check(recorder.history(ending=HUNG)).findings) == 1


def test_a_call_left_open_by_the_death_of_the_driver_is_not_judged():
    recorder = Recorder()
    recorder.invoke("step")
    judgement = CHECKER.check(recorder.history(ending=Ending(signal=9)))
    assert (judgement.findings, judgement.judged) == ((), 0)


def test_a_shutdown_that_never_ends_is_left_to_another_checker():
    recorder = Recorder()
    recorder.call("reset")
    recorder.invoke("shutdown")
    assert CHECKER.check(recorder.history(ending=HUNG)).findings == ()


@pytest.mark.parametrize("after_s", [0.2, 0.65])
def test_a_timeout_that_is_kept_passes(after_s):
    recorder = Recorder()
    invoked = recorder.invoke("recv", timeout_s=0.2)
    recorder.fail(invoked, error="TimeoutError", after_s=after_s)
    assert texts(CHECKER.check(recorder.history())) == []


def test_a_timeout_that_comes_late_is_found_and_is_about_time_only():
    recorder = Recorder()
    invoked = recorder.invoke("recv", timeout_s=0.2)
    recorder.fail(invoked, error="TimeoutError", after_s=1.0)
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text == (
        "recv (request 0) was given a timeout of 0.20 s and raised TimeoutError after 1.00 s"
    )
    assert finding.time


def test_results_that_come_after_the_timeout_are_found():
    recorder = Recorder()
    recorder.call("recv", timeout_s=0.2, after_s=1.0)
    assert texts(CHECKER.check(recorder.history()))[0].endswith("returned after 1.00 s")


def test_a_timeout_that_comes_early_is_found_and_cannot_be_noise():
    recorder = Recorder()
    invoked = recorder.invoke("recv", timeout_s=0.2)
    recorder.fail(invoked, error="multiprocessing.context.TimeoutError", after_s=0.1)
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text.endswith("raised TimeoutError after 0.10 s")
    assert not finding.time


def test_another_error_may_come_before_the_timeout():
    recorder = Recorder()
    recorder.failing("recv", timeout_s=1.0)
    assert texts(CHECKER.check(recorder.history())) == []


def test_an_interrupted_call_counts_as_one_that_never_ends():
    recorder = Recorder()
    recorder.invoke("step")
    judgement = CHECKER.check(recorder.history(ending=Ending(ended_by_us=True)))
    assert texts(judgement)[0].endswith("(hang: not told)")
    assert judgement.judged == 1


def test_a_hang_without_an_open_operation_blames_none():
    recorder = Recorder()
    recorder.call("step")
    assert texts(CHECKER.check(recorder.history(ending=HUNG))) == []


def test_an_error_that_comes_after_the_timeout_but_is_none_is_in_time():
    recorder = Recorder()
    recorder.fail(recorder.invoke("recv", timeout_s=0.2), after_s=2.0)
    assert texts(CHECKER.check(recorder.history())) == []

"""Calls succeed or fail as the scenario expects."""

from __future__ import annotations

import pytest

from harness.checkers.expected_outcome import CHECKER
from harness.model.history import Kind
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import Recorder, texts

OUTCOMES = ("survives", "recovers", "fails-bounded")


def found(recorder: Recorder, *expect: str, fault: str = "raise") -> list[str]:
    return texts(CHECKER.check(recorder.history(faults=[(fault, "f1")], expect=expect)))


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_calls_that_succeed_without_a_fault_pass(outcome):
    recorder = Recorder()
    recorder.call("reset")
    recorder.call("shutdown")
    judgement = CHECKER.check(recorder.history(expect=(outcome,)))
    assert (judgement.findings, judgement.judged) == ((), 2)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_history_in_which_nothing_ended_is_no_evidence(outcome):
    recorder = Recorder()
    recorder.invoke("step")
    assert CHECKER.check(recorder.history(expect=(outcome,))).judged == 0


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_close_that_raises_is_found(outcome):
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.failing("step")
    recorder.failing("shutdown", "broken")
    assert "shutdown (request 3) raised RuntimeError: broken: expected is that close is clean" in (
        found(recorder, outcome)
    )


def test_a_call_that_fails_where_all_have_to_succeed_is_found():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.failing("step", "worker 0 died")
    (finding,) = CHECKER.check(recorder.history(faults=[("raise", "f1")])).findings
    assert finding.text == (
        "step (request 1) raised RuntimeError: worker 0 died: expected is that every call succeeds"
    )
    assert (finding.contract, finding.events) == (Contract.EQUIVALENCE, (1, 2))


@pytest.mark.parametrize("fault", ["stall", "stop"])
def test_a_receive_that_times_out_while_its_env_is_held_does_what_was_asked(fault):
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.fail(recorder.invoke("recv", timeout_s=0.1), error="TimeoutError")
    assert found(recorder, "survives", fault=fault) == []


def test_a_receive_that_times_out_after_the_hold_is_found():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.fault("f1", "healed")
    recorder.fail(recorder.invoke("recv", timeout_s=0.1), error="TimeoutError")
    assert len(found(recorder, "survives", fault="stall")) == 1


def test_a_receive_without_a_timeout_that_times_out_is_found():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.fail(recorder.invoke("recv", timeout_s=None), error="TimeoutError")
    assert len(found(recorder, "survives", fault="stall")) == 1


def test_a_send_that_no_worker_can_apply_may_raise():
    recorder = Recorder("weights")
    recorder.failing("send", version=2, defect="wrong_key")
    assert found(recorder, "survives", fault="bad_weights") == []


def test_calls_may_fail_while_the_fault_lasts():
    recorder = Recorder()
    recorder.call("reset")
    recorder.fault("f1", "reached")
    recorder.failing("step")
    recorder.fault("f1", "healed")
    recorder.call("step")
    assert found(recorder, "recovers") == []


def test_a_call_that_fails_after_the_fault_is_found():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.fault("f1", "healed")
    recorder.failing("step", "late")
    assert found(recorder, "recovers") == [
        "step (request 2) raised RuntimeError: late: expected is that calls outside of a fault "
        "succeed"
    ]


def test_a_call_that_fails_before_the_fault_is_found():
    recorder = Recorder()
    recorder.failing("step")
    recorder.fault("f1", "reached")
    assert len(found(recorder, "recovers")) == 1


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_call_that_fails_once_all_should_be_well_is_found(outcome):
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.failing("step")
    recorder.failing("step", "still broken", phase="converge")
    assert any("still broken" in text for text in found(recorder, outcome))


def test_a_fault_after_which_a_call_raises_passes():
    recorder = Recorder()
    recorder.call("reset")
    recorder.fault("f1", "reached")
    recorder.call("step")
    recorder.failing("step")
    assert found(recorder, "fails-bounded") == []


def test_a_fault_after_which_no_call_raises_is_found():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.fault("f1", "effect")
    recorder.call("step")
    recorder.call("shutdown")
    assert found(recorder, "fails-bounded") == [
        "the call that raise (f1) hits raises, but all of the 1 calls after it returned"
    ]


def test_a_fault_that_was_reached_and_had_no_effect_wants_no_failure():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.call("step")
    recorder.call("shutdown")
    assert found(recorder, "fails-bounded") == []


def test_a_fault_that_a_call_still_waits_on_is_left_to_another_checker():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.fault("f1", "effect")
    recorder.call("step")
    recorder.invoke("step")
    assert found(recorder, "fails-bounded") == []


def test_a_call_that_fails_before_it_was_hit_is_found():
    recorder = Recorder()
    recorder.failing("reset", "too soon")
    recorder.fault("f1", "reached")
    recorder.failing("step")
    assert found(recorder, "fails-bounded") == [
        "reset (request 0) raised RuntimeError: too soon: expected is that calls that no fault has "
        "hit succeed"
    ]


def test_any_of_several_outcomes_suffices():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.failing("step")
    assert found(recorder, "survives", "fails-bounded") == []


def test_a_receive_that_fails_otherwise_while_its_env_is_held_is_found():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.fail(recorder.invoke("recv", timeout_s=0.1), "broken")
    assert len(found(recorder, "survives", fault="stall")) == 1


def test_an_operation_that_was_given_up_did_not_succeed():
    recorder = Recorder()
    invoked = recorder.invoke("step")
    recorder.write(Kind.INFO, "step", request=invoked.id)
    assert found(recorder, "survives") == [
        "step (request 0) was given up: expected is that every call succeeds"
    ]


def test_a_fault_that_was_not_reached_wants_no_failure():
    recorder = Recorder()
    recorder.fault("f1", "armed")
    recorder.call("step")
    assert found(recorder, "fails-bounded") == []


def test_the_nearest_of_several_outcomes_tells_what_is_wrong():
    recorder = Recorder()
    recorder.failing("reset")
    recorder.fault("f1", "reached")
    recorder.failing("step")
    recorder.failing("step")
    assert len(found(recorder, "survives", "recovers")) == 1


@pytest.mark.parametrize(("refusable", "found"), [(True, 0), (False, 1)])
def test_a_send_may_fail_only_where_the_pool_may_refuse_it(refusable, found):
    recorder = Recorder()
    arguments = {"refusable": True} if refusable else {}
    recorder.failing("send", "env 0 is busy", actions=[1, 2], **arguments)
    assert len(CHECKER.check(recorder.history()).findings) == found


def test_a_fault_after_which_nothing_was_called_was_not_to_be_answered():
    recorder = Recorder()
    recorder.call("step")
    recorder.fault("f1", "reached")
    recorder.fault("f1", "effect")
    recorder.call("shutdown")
    assert found(recorder, "fails-bounded") == []


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_call_that_a_pool_may_refuse_may_fail(outcome):
    recorder = Recorder()
    recorder.failing("recv", "nothing was sent", refusable=True)
    assert found(recorder, outcome, fault="stall") == []


@pytest.mark.parametrize("error", ["AttributeError", "TypeError", "NameError", "AssertionError"])
def test_an_accident_in_the_code_is_no_refusal(error):
    recorder = Recorder()
    invoked = recorder.invoke("recv", refusable=True)
    recorder.fail(invoked, "'NoneType' object has no attribute 'get'", error=error)
    assert len(found(recorder, "survives")) == 1


def test_a_call_like_it_that_nobody_said_that_of_may_not():
    recorder = Recorder()
    recorder.failing("recv", "nothing was sent")
    assert len(found(recorder, "survives")) == 1


def lost() -> Recorder:
    """An item of env 0 is lost."""
    recorder = Recorder()
    recorder.fault("f1", "reached", marker="probe-failure-f1")
    recorder.fault("f1", "effect")
    recorder.call("step")
    return recorder


def test_a_call_that_is_refused_anyway_is_no_answer_to_a_fault():
    recorder = lost()
    recorder.failing("recv", "nothing was sent", refusable=True)
    assert found(recorder, "fails-bounded", fault="drop_transfer") == [
        "the call that drop_transfer (f1) hits raises, but all of the 2 calls after it returned or "
        "were bound to fail"
    ]


@pytest.mark.parametrize("message", ["probe-failure-f1", "worker 0 died"])
def test_a_refusal_that_tells_of_the_fault_is_an_answer(message):
    recorder = lost()
    recorder.failing("recv", message, refusable=True)
    assert found(recorder, "fails-bounded", fault="drop_transfer") == []


@pytest.mark.parametrize(("fault", "count"), [("drop_transfer", 1), ("stall", 0)])
def test_a_receive_that_a_stall_was_to_make_late_answers_the_stall_only(fault, count):
    recorder = Recorder()
    recorder.fault("held", "reached")
    recorder.fault("held", "effect")
    recorder.fault("f1", "reached")
    recorder.fault("f1", "effect")
    recorder.fail(recorder.invoke("recv", timeout_s=0.5), "late", error="TimeoutError")
    faults = [("stall", "held"), (fault, "f1")]
    history = recorder.history(faults=faults, expect=("fails-bounded",))
    assert len(CHECKER.check(history).findings) == count


@pytest.mark.parametrize("component", ["pool", "weights"])
def test_a_call_that_succeeds_once_it_is_closed_is_found(component):
    recorder = Recorder(component)
    recorder.fault("f1", "reached")
    recorder.fault("f1", "effect")
    recorder.failing("send", "worker 0 died")
    recorder.call("shutdown")
    recorder.call("send")
    assert found(recorder, "fails-bounded") == [
        "send (request 6) returned: expected is that calls fail once it is closed"
    ]


def test_a_call_that_succeeds_once_it_is_closed_is_found_without_a_fault():
    recorder = Recorder()
    recorder.call("reset")
    recorder.call("shutdown")
    recorder.call("step")
    assert len(found(recorder, "fails-bounded")) == 1


def test_a_call_that_fails_once_it_is_closed_passes():
    recorder = Recorder()
    recorder.call("reset")
    recorder.call("shutdown")
    recorder.failing("step", "the pool is closed")
    assert found(recorder, "fails-bounded") == []


def test_a_call_that_fails_once_it_is_closed_is_no_answer_to_a_fault():
    recorder = Recorder()
    recorder.fault("f1", "reached")
    recorder.fault("f1", "effect")
    recorder.call("step")
    recorder.call("shutdown")
    recorder.failing("step", "the pool is closed")
    assert found(recorder, "fails-bounded") == [
        "the call that raise (f1) hits raises, but all of the 1 calls after it returned"
    ]


def test_a_call_of_a_pool_that_took_the_place_of_a_closed_one_succeeds():
    recorder = Recorder()
    recorder.call("reset")
    recorder.call("shutdown")
    recorder.call("replace")
    recorder.call("step")
    assert found(recorder, "fails-bounded") == []


def test_a_call_that_began_before_the_close_had_ended_may_succeed():
    recorder = Recorder()
    closing = recorder.invoke("shutdown")
    recorder.call("step")
    recorder.ok(closing)
    assert found(recorder, "fails-bounded") == []


@pytest.mark.parametrize("verb", ["close_beside", "idle", "mark", "mutate"])
def test_what_asks_nothing_of_the_closed_one_succeeds(verb):
    recorder = Recorder()
    recorder.call("shutdown")
    recorder.call(verb)
    assert found(recorder, "fails-bounded") == []


def test_a_call_that_may_be_refused_may_succeed_once_it_is_closed():
    recorder = Recorder()
    recorder.call("shutdown")
    recorder.call("step", refusable=True)
    assert found(recorder, "fails-bounded") == []


def test_what_was_stored_may_be_read_once_the_storage_is_closed():
    recorder = Recorder("storage")
    recorder.call("shutdown")
    recorder.call("race")
    assert found(recorder, "fails-bounded") == []

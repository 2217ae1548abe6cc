"""An error says which worker failed, in what operation, and why."""

from __future__ import annotations

import pytest

from harness.checkers.failure_attributed import CHECKER
from harness.model.history import Event
from harness.model.verdict import Contract, Finding, Judgement
from tests.unit.harness.checkers.histories import Recorder, texts

MARKER = "probe-failure-f1"


def struck(component: str = "pool", *, worker: int | None = 1, marker: str = MARKER) -> Recorder:
    recorder = Recorder(component)
    recorder.call("reset")
    recorder.fault("f1", "armed")
    known = {} if worker is None else {"worker": worker}
    recorder.fault("f1", "reached", marker=marker, **known)
    recorder.fault("f1", "effect")
    return recorder


def judged(recorder: Recorder, fault: str = "raise", **more) -> Judgement:
    more = {"expect": ("fails-bounded",), "faults": [(fault, "f1")], **more}
    return CHECKER.check(recorder.history(**more))


def raised(message: str, fault: str = "raise", **more) -> list[Finding]:
    """What is found in a step that raises this after the fault."""
    recorder = struck()
    recorder.fail(recorder.invoke("step", actions=[1, 2]), message, **more)
    return list(judged(recorder, fault).findings)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise", f"worker 1 failed in step: {MARKER}"),
        ("raise", f"env_index=1: step: {MARKER}"),
        ("raise", f"Worker<AsyncProcess>-1, environment [1], {MARKER} in step"),
        ("raise", f"workers [0, 1] failed in step: {MARKER}"),
        ("signal", "Worker-1 died in step"),
        ("exit", "worker 1 exited with code 3 in step"),
        ("exit", f"worker 1 failed in step: SystemExit: {MARKER}: told to exit"),
        ("signal", "process 1 exited with code -9 during step"),
        ("kill", "worker 1 was killed before the step"),
        ("bad_weights", "worker 1 could not apply: size mismatch for w"),
        ("bad_weights", "worker 1, update: Missing key(s) in state_dict"),
        ("bad_reply", f"worker 1 failed in step: UnpicklableError: {MARKER}"),
        ("fail_transfer", f"worker 1 could not be sent its step: {MARKER}"),
        ("truncate_transfer", f"worker 1: its reply to step could not be read: {MARKER}"),
        ("unrebuildable_item", "worker 1 died in step"),
        ("tear_transfer", "worker 1 died in step (exit code -9)"),
    ],
)
def test_an_error_that_tells_worker_operation_and_cause_passes(fault, message):
    recorder = struck()
    recorder.fail(recorder.invoke("step", actions=[1, 2]), message)
    judgement = judged(recorder, fault)
    assert texts(judgement) == []
    assert judgement.judged == 1


@pytest.mark.parametrize("fault", ["fail_transfer", "truncate_transfer", "unrebuildable_item"])
def test_an_error_that_does_not_say_why_an_item_was_not_to_be_had_is_found(fault):
    (finding,) = raised("worker 1 failed in step", fault)
    assert finding.text.endswith(
        f"it carries neither the first cause ({MARKER}) nor says that the worker is gone"
    )
    assert finding.contract is Contract.EQUIVALENCE


def test_a_worker_that_was_killed_while_it_wrote_has_died():
    (finding,) = raised("worker 1 failed in step", "tear_transfer")
    assert finding.text.endswith("it does not say that the worker died")


def test_a_cause_that_only_the_traceback_tells_passes():
    assert raised("worker 1 failed in step", traceback=f"ValueError: {MARKER}") == []


def test_a_cause_that_only_the_chain_tells_passes():
    assert raised("worker 1 failed in step", causes=[MARKER]) == []


def test_a_fault_that_was_not_reached_is_no_evidence():
    recorder = Recorder()
    recorder.failing("step")
    assert judged(recorder).judged == 0


def test_an_error_without_the_first_cause_is_found():
    (finding,) = raised("worker 1 failed in step")
    assert finding.text.endswith(
        f"it does not carry the first cause ({MARKER}); a serial env raises the cause itself"
    )
    assert finding.contract is Contract.EQUIVALENCE


def test_an_error_that_does_not_say_that_the_worker_died_is_found():
    (finding,) = raised("worker 1: step: something is wrong", "signal")
    assert finding.text.endswith("it does not say that the worker died")
    assert finding.contract is Contract.EQUIVALENCE


@pytest.mark.parametrize(
    "message",
    [
        "worker 1: step: no result within the deadline",
        "worker 1: step: key 'terminated' is missing",
        "worker 1: step: exited loop with stale id",
    ],
)
def test_words_of_the_trade_do_not_say_that_the_worker_died(message: str):
    (finding,) = raised(message, "signal")
    assert finding.text.endswith("it does not say that the worker died")


def test_words_in_the_code_that_a_traceback_quotes_do_not_count():
    quoted = "Traceback (most recent call last):\n  if self.closed: raise\nRuntimeError: no"
    (finding,) = raised("worker 1: step: no", "signal", traceback=quoted)
    assert finding.text.endswith("it does not say that the worker died")


def test_an_end_of_file_without_a_message_says_that_the_worker_died():
    found = raised("", "signal", error="EOFError")
    assert {finding.contract for finding in found} == {Contract.OPINION}


def test_an_error_that_does_not_say_what_was_wrong_with_the_weights_is_found():
    (finding,) = raised("worker 1: send failed", "bad_weights")
    assert finding.text.endswith("it does not say which key, shape or type was wrong")


@pytest.mark.parametrize(
    "message", ["shapes differ", "dtypes differ", "missing keys", "wrong type"]
)
def test_an_error_that_says_what_was_wrong_with_a_reply_passes(message):
    recorder = struck(marker="")
    recorder.fail(recorder.invoke("step", actions=[1, 2]), f"worker 1, step: {message}")
    assert texts(judged(recorder, "bad_reply")) == []


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("TypeError: 'unpicklable' is not in the specs", 0),
        ("it did not work", 1),
    ],
)
def test_who_refuses_a_reply_need_not_say_what_would_raise_in_it(message: str, found: int):
    assert len(raised(f"worker 1, step: {message}", "bad_reply")) == found


def test_an_error_that_does_not_say_what_was_wrong_with_a_reply_is_found():
    recorder = struck(marker="")
    recorder.fail(recorder.invoke("step", actions=[1, 2]), "worker 1, step: no", error="TypeError")
    finding, *opinions = judged(recorder, "bad_reply").findings
    assert finding.text.endswith("it does not say which key, shape or type was wrong")
    assert finding.contract is Contract.EQUIVALENCE
    assert {each.contract for each in opinions} <= {Contract.OPINION}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (f"step failed: {MARKER}", "it does not name worker 1"),
        (f"process 4711, step: {MARKER}", "it does not name worker 1"),
        (f"worker 1: {MARKER}", "it does not name the operation"),
    ],
)
def test_an_error_that_leaves_something_out_is_told_as_an_opinion(message, text):
    (finding,) = raised(message)
    assert finding.text.endswith(text)
    assert finding.contract is Contract.OPINION


@pytest.mark.parametrize("message", [f"worker 0 failed in step: {MARKER}", f"{MARKER} in env 0"])
def test_an_error_that_blames_another_worker_is_found(message: str):
    blaming = [f for f in raised(message) if f.contract is Contract.EQUIVALENCE]
    assert len(blaming) == 1
    assert blaming[0].text.endswith("it blames worker 0, and it was worker 1")


def test_a_number_that_is_no_worker_blames_nobody():
    found = raised(f"process 4711 failed in step: {MARKER}")
    assert [f.contract for f in found] == [Contract.OPINION]


def test_words_of_the_marker_do_not_count_as_the_backends():
    marker = "step of worker 1 raises"
    recorder = struck(marker=marker)
    recorder.fail(recorder.invoke("step", actions=[1, 2]), marker)
    assert [f.contract for f in judged(recorder).findings] == [Contract.OPINION] * 2


def test_any_worker_will_do_where_the_fault_has_none():
    recorder = struck("weights", worker=None)
    recorder.failing("send", "worker 0: send: shape mismatch", version=2, defect="wrong_shape")
    assert texts(judged(recorder, "bad_weights")) == []


def test_an_error_of_an_unusual_type_is_told_as_an_opinion():
    (finding,) = raised(f"worker 1, step: {MARKER}", error="AssertionError")
    assert finding.text.endswith("nobody would catch this type")
    assert finding.contract is Contract.OPINION


def test_the_first_failure_counts_although_a_later_one_tells_more():
    recorder = struck()
    recorder.failing("step", "worker 1 failed in step")
    recorder.failing("step", f"worker 1 failed in step: {MARKER}")
    assert len(judged(recorder).findings) == 1


def test_a_failure_before_the_fault_does_not_count():
    recorder = Recorder()
    recorder.failing("reset", "unrelated")
    recorder.fault("f1", "reached", marker=MARKER, worker=1)
    recorder.failing("step", f"worker 1 failed in step: {MARKER}")
    assert texts(judged(recorder)) == []


def test_an_operation_that_began_before_the_fault_counts():
    recorder = Recorder()
    invoked = recorder.invoke("step", actions=[1, 2])
    recorder.fault("f1", "reached", marker=MARKER, worker=1)
    recorder.fail(invoked, "worker 1 failed in step")
    assert "first cause" in texts(judged(recorder))[0]


def test_a_failure_of_another_fault_is_not_taken_for_this_ones():
    recorder = struck()
    recorder.fault("f2", "reached", marker="probe-failure-f2", worker=0)
    recorder.failing("step", "worker 0 failed in step: probe-failure-f2")
    recorder.failing("step", f"worker 1 failed in step: {MARKER}")
    judgement = judged(recorder, faults=[("raise", "f1"), ("raise", "f2")])
    assert (texts(judgement), judgement.judged) == ([], 2)


def timed_out_under_a_stall() -> Recorder:
    """Env 0 is held, and env 1 fails while a receive with a timeout waits for both."""
    recorder = Recorder()
    recorder.call("send", actions=[1, 2])
    invoked = recorder.invoke("recv", timeout_s=0.5, min_get=2)
    recorder.fault("f1", "reached", worker=0)
    recorder.fault("f2", "reached", worker=1, marker=MARKER)
    recorder.fault("f2", "effect")
    recorder.fail(invoked, "env 0 has not answered", error="TimeoutError", after_s=0.5)
    recorder.fault("f1", "effect")
    recorder.fault("f1", "healed")
    return recorder


def test_a_timeout_that_a_stall_was_to_cause_is_not_taken_for_the_report_of_another_fault():
    recorder = timed_out_under_a_stall()
    recorder.failing("recv", f"worker 1 failed in step: {MARKER}", timeout_s=None, min_get=2)
    judgement = judged(recorder, faults=[("stall", "f1"), ("raise", "f2")])
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_a_fault_that_was_not_told_in_time_before_the_close_need_not_be_reported():
    recorder = timed_out_under_a_stall()
    recorder.call("shutdown")
    assert texts(judged(recorder, faults=[("stall", "f1"), ("raise", "f2")])) == []


def test_a_fault_that_nobody_heard_of_is_found():
    recorder = struck()
    recorder.call("step", actions=[1, 2])
    recorder.call("shutdown")
    (finding,) = judged(recorder).findings
    assert finding.text == (
        "the fault was not reported: raise (f1) had its effect, and all of the 1 calls after it "
        "returned"
    )
    assert finding.contract is Contract.EQUIVALENCE


def test_a_fault_that_only_a_shutdown_could_have_met_need_not_be_reported():
    recorder = struck()
    recorder.call("shutdown")
    recorder.call("release")
    judgement = judged(recorder, "signal")
    assert (judgement.findings, judgement.judged) == ((), 1)


def test_a_fault_whose_call_never_ends_is_left_to_another_checker():
    recorder = struck()
    recorder.call("step", actions=[1, 2])
    recorder.invoke("step", actions=[3, 4])
    assert texts(judged(recorder)) == []


def test_a_backend_that_may_survive_need_not_report():
    recorder = struck()
    recorder.call("step", actions=[1, 2])
    judgement = judged(recorder, expect=("survives", "fails-bounded"))
    assert (judgement.findings, judgement.judged) == ((), 1)


def test_a_shutdown_that_reports_the_same_again_is_found():
    recorder = struck()
    report: Event = recorder.failing("step", f"worker 1 failed in step: {MARKER}")
    recorder.failing("shutdown", MARKER)
    (finding,) = judged(recorder).findings
    assert finding.text.startswith(
        f"shutdown (request 7) reports again what step (request {report.id}) had reported"
    )
    assert finding.contract is Contract.EQUIVALENCE


def test_a_fault_without_an_effect_need_not_be_reported():
    recorder = Recorder()
    recorder.fault("f1", "reached", marker=MARKER, worker=1)
    recorder.call("step", actions=[1, 2])
    assert texts(judged(recorder)) == []


def test_other_kinds_of_faults_are_not_judged():
    recorder = struck()
    recorder.failing("step", "too late")
    judgement = judged(recorder, faults=[("stall", "f1")])
    assert (judgement.findings, judgement.judged) == ((), 0)


def test_a_call_that_meets_the_same_cause_again_may_report_it_again():
    recorder = struck()
    recorder.failing("step", f"worker 1 failed in step: {MARKER}")
    recorder.failing("step", f"worker 1 failed in step: {MARKER}")
    assert texts(judged(recorder)) == []


def test_a_shutdown_that_reports_something_else_is_left_to_another_checker():
    recorder = struck()
    recorder.failing("step", f"worker 1 failed in step: {MARKER}")
    recorder.failing("shutdown", "something else")
    assert texts(judged(recorder)) == []


def test_an_error_that_carries_both_of_two_causes_serves_for_both():
    recorder = struck()
    recorder.fault("f2", "reached", marker="probe-failure-f2", worker=0)
    both = f"workers 0 and 1 failed in step: probe-failure-f2, {MARKER}"
    recorder.failing("step", both)
    recorder.failing("step", "unrelated")
    judgement = judged(recorder, faults=[("raise", "f1"), ("raise", "f2")])
    assert (texts(judgement), judgement.judged) == ([], 2)


def test_a_type_that_the_fault_itself_raises_is_no_surprise():
    recorder = Recorder()
    recorder.fault("f1", "reached", marker=MARKER, worker=1, type="ProbeError")
    message = f"worker 1 failed in step: {MARKER}"
    recorder.fail(recorder.invoke("step", actions=[1, 2]), message, error="ProbeError")
    assert texts(judged(recorder)) == []


def test_a_kill_from_outside_has_to_be_told_as_a_death():
    (finding,) = raised("worker 1: step: something is wrong", "kill")
    assert finding.text.endswith("it does not say that the worker died")


def test_of_several_workers_that_were_struck_any_may_be_named():
    recorder = struck()
    recorder.fault("f2", "reached", worker=0)
    recorder.fault("f2", "effect", worker=0)
    recorder.fail(recorder.invoke("step", actions=[1, 2]), "worker 0 died in step")
    faults = [("kill", "f1"), ("kill", "f2")]
    history = recorder.history(faults=faults, expect=("fails-bounded",))
    assert not [f for f in CHECKER.check(history).findings if "blames" in f.text]


def test_a_call_that_fails_because_the_pool_is_closed_reports_no_fault():
    recorder = struck()
    recorder.call("step", actions=[1, 2])
    recorder.call("shutdown")
    recorder.failing("step", f"worker 1 failed in step: {MARKER}")
    (finding,) = judged(recorder, expect=("fails-bounded",)).findings
    assert "all of the 1 calls after it returned" in finding.text

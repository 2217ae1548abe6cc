"""After a failed call the next valid one works, or the object says that it is closed."""

from __future__ import annotations

import pytest

from harness.checkers.usable_after import CHECKER
from tests.unit.harness.checkers.histories import HonestPool, Recorder, texts

RAISE = [("raise", "f1")]


def struck(recorder: Recorder, op: str = "step", worker: int = 1, **arguments) -> None:
    """A call that a fault makes fail."""
    invoked = recorder.invoke(op, **arguments)
    recorder.fault("f1", "reached", worker=worker)
    recorder.fault("f1", "effect", worker=worker)
    recorder.fail(invoked)


def failed_step() -> HonestPool:
    pool = HonestPool(num_envs=3)
    pool.reset()
    struck(pool.recorder, actions=[1, 2, 3])
    return pool


def failed_receive() -> HonestPool:
    pool = HonestPool(num_envs=3)
    pool.reset()
    pool.send()
    struck(pool.recorder, "recv", min_get=3, timeout_s=None)
    return pool


def test_a_reset_and_a_step_that_work_pass():
    pool = failed_step()
    pool.reset()
    pool.step()
    judgement = CHECKER.check(pool.history(faults=RAISE))
    assert (texts(judgement), judgement.judged) == ([], 2)


def test_a_reset_that_fails_without_saying_why_is_found():
    pool = failed_step()
    pool.recorder.failing("reset", "envs are busy")
    (text,) = texts(CHECKER.check(pool.history(faults=RAISE)))
    assert text == (
        "after step (request 5) had failed, reset (request 9) raised RuntimeError: envs are busy, "
        "which does not say that the pool is closed or a worker dead"
    )


@pytest.mark.parametrize("message", ["the pool is closed", "worker 1 died", "worker 1 was killed"])
def test_a_reset_that_says_that_it_is_over_passes(message):
    pool = failed_step()
    pool.recorder.failing("reset", message)
    judgement = CHECKER.check(pool.history(faults=RAISE))
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_an_attribute_error_says_nothing_whatever_its_words():
    pool = failed_step()
    invoked = pool.recorder.invoke("reset")
    pool.recorder.fail(
        invoked, "'NoneType' object has no attribute 'closed'", error="AttributeError"
    )
    assert len(CHECKER.check(pool.history(faults=RAISE)).findings) == 1


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ('key "terminated" not found in TensorDict', "KeyError"),
        ('key "terminated" not found', "RuntimeError"),
        ("no result within the deadline", "RuntimeError"),
        ("exited loop with stale id", "RuntimeError"),
        ("list of closed workers is too short", "IndexError"),
        ("the enclosing loop is broken", "RuntimeError"),
        ("a deadlock was avoided", "RuntimeError"),
    ],
)
def test_words_of_the_trade_do_not_say_that_it_is_over(message, error):
    pool = failed_step()
    pool.recorder.fail(pool.recorder.invoke("reset"), message, error=error)
    assert len(CHECKER.check(pool.history(faults=RAISE)).findings) == 1


@pytest.mark.parametrize(
    "message",
    [
        "Trying to operate on `AsyncVectorEnv`, after a call to `close()`: it is closed",
        "AsyncEnvPool worker process exited unexpectedly.",
        "At least one process failed: worker 1 (exit code -9).",
        "worker 1 was terminated",
        "process 1 exited",
        "[Errno 32] Broken pipe",
        "the pool has been shut down",
    ],
)
def test_an_end_is_told_in_many_words(message):
    pool = failed_step()
    pool.recorder.failing("reset", message)
    assert CHECKER.check(pool.history(faults=RAISE)).findings == ()


def test_words_of_the_fault_itself_do_not_say_that_it_is_over():
    pool = HonestPool(num_envs=3)
    pool.reset()
    invoked = pool.recorder.invoke("step", actions=[1, 2, 3])
    pool.recorder.fault("f1", "reached", worker=1, marker="the probe has died (f1)")
    pool.recorder.fault("f1", "effect", worker=1)
    pool.recorder.fail(invoked)
    pool.recorder.failing("reset", "worker 1 failed in step: the probe has died (f1)")
    assert len(CHECKER.check(pool.history(faults=RAISE)).findings) == 1


def test_a_step_without_a_reset_after_the_failure_is_not_valid():
    pool = failed_step()
    pool.recorder.failing("step", "reset first", actions=[4, 5, 6])
    assert CHECKER.check(pool.history(faults=RAISE)).judged == 0


def test_a_call_that_the_next_fault_hits_is_not_judged():
    pool = failed_step()
    invoked = pool.recorder.invoke("reset")
    pool.recorder.fault("f2", "reached", worker=0)
    pool.recorder.fail(invoked)
    history = pool.history(faults=[*RAISE, ("raise", "f2")])
    assert CHECKER.check(history).judged == 0


def test_ready_results_that_are_received_pass():
    pool = failed_receive()
    pool.recv([0, 2])
    pool.reset()
    judgement = CHECKER.check(pool.history(faults=RAISE))
    assert (texts(judgement), judgement.judged) == ([], 2)


def test_ready_results_that_cannot_be_received_are_lost():
    pool = failed_receive()
    pool.recorder.failing("recv", "worker 1 failed in step", min_get=2, timeout_s=2.0)
    (text,) = texts(CHECKER.check(pool.history(faults=RAISE)))
    assert "the results of the other envs are lost: recv (request" in text


def test_a_receive_of_more_than_is_outstanding_is_not_valid():
    pool = failed_receive()
    pool.recorder.failing("recv", "too many", min_get=3, timeout_s=None)
    assert CHECKER.check(pool.history(faults=RAISE)).judged == 0


def test_the_result_of_an_env_that_was_struck_is_not_among_those_that_are_due():
    pool = HonestPool(num_envs=3)
    pool.reset()
    pool.send()
    struck(pool.recorder, "reset_where", mask=[True, True, True])
    pool.recorder.failing("recv", "worker 1 failed in step", min_get=3, timeout_s=None)
    assert CHECKER.check(pool.history(faults=RAISE)).judged == 0


def test_the_result_of_an_env_that_was_merely_held_is_still_due():
    pool = HonestPool(num_envs=2)
    pool.reset()
    pool.send()
    pool.recorder.fault("f1", "reached", worker=1)
    pool.recorder.failing("recv", "too late", min_get=2, timeout_s=0.5)
    pool.recorder.fault("f1", "healed")
    pool.recorder.failing("recv", "nothing is to come", min_get=2, timeout_s=None)
    (text,) = texts(CHECKER.check(pool.history(faults=[("stall", "f1")])))
    assert "the results of the other envs are lost: recv (request" in text


def test_a_call_after_closing_is_not_judged():
    pool = failed_step()
    pool.recorder.call("shutdown")
    pool.recorder.failing("reset", "what do you want")
    pool.recorder.failing("reset", "what do you want")
    assert CHECKER.check(pool.history(faults=RAISE)).judged == 0


def test_it_applies_where_a_valid_call_followed_a_failed_one():
    pool = failed_step()
    assert not CHECKER.applies(pool.history(faults=RAISE))
    pool.reset()
    assert CHECKER.applies(pool.history(faults=RAISE))

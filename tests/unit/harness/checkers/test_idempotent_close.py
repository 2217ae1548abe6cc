"""Closing again, from another thread, or after a failed constructor: no error, nothing left."""

from __future__ import annotations

from harness.checkers.idempotent_close import CHECKER
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import Recorder, texts


def test_closing_again_without_an_error_passes():
    recorder = Recorder()
    recorder.call("construct")
    recorder.call("shutdown")
    recorder.call("shutdown", thread=True)
    judgement = CHECKER.check(recorder.history())
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_closing_again_with_an_error_is_found():
    recorder = Recorder()
    recorder.call("shutdown")
    recorder.failing("shutdown", "it was closed before")
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text == (
        "closing again, after shutdown (request 0), must be no error, but shutdown (request 2) "
        "raised RuntimeError: it was closed before"
    )
    assert finding.contract is Contract.LIVENESS


def test_a_first_close_from_another_thread_is_judged():
    recorder = Recorder()
    recorder.failing("shutdown", "wrong thread", thread=True)
    (text,) = texts(CHECKER.check(recorder.history()))
    assert text.startswith("closing from another thread must be no error, but shutdown (request 0)")


def test_the_close_of_the_next_object_is_not_a_second_one():
    recorder = Recorder()
    recorder.call("shutdown")
    recorder.call("replace")
    recorder.failing("shutdown")
    assert not CHECKER.applies(recorder.history())


def test_what_a_failed_constructor_leaves_is_another_checkers_case():
    recorder = Recorder()
    recorder.failing("construct")
    assert not CHECKER.applies(recorder.history())


def test_it_does_not_apply_to_one_close_in_the_same_thread():
    recorder = Recorder()
    recorder.call("construct")
    recorder.call("shutdown")
    assert not CHECKER.applies(recorder.history())

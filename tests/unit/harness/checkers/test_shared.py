"""Who is asked for answers at all."""

from __future__ import annotations

import pytest

from harness.checkers._shared import POOL, AnswerChecker
from harness.model.history import History
from harness.model.verdict import Judgement
from tests.unit.harness.checkers.histories import Recorder

CHECKER = AnswerChecker(
    name="answers",
    components=POOL,
    check=lambda _: Judgement(findings=(), judged=1),
    verbs=frozenset({"construct", "reset"}),
)


def struck(*, before: bool = False, recovered: bool = False, fault: bool = True) -> History:
    """A reset that raises, with what comes before and after it."""
    recorder = Recorder()
    recorder.call("construct")
    if before:
        recorder.call("reset")
    recorder.fault("f1", "armed")
    if fault:
        recorder.fault("f1", "reached")
        recorder.fault("f1", "effect")
    recorder.failing("reset", "worker 1 failed in reset")
    if recovered:
        recorder.call("reset")
    recorder.call("shutdown")
    return recorder.history(faults=[("raise", "f1")])


def test_a_backend_whose_first_call_was_struck_had_nothing_to_answer_with():
    assert not CHECKER.applies(struck())


@pytest.mark.parametrize("more", [{"before": True}, {"recovered": True}], ids=["before", "after"])
def test_a_backend_that_answered_some_call_is_judged(more):
    assert CHECKER.applies(struck(**more))


def test_a_backend_whose_every_call_failed_by_itself_is_judged():
    assert CHECKER.applies(struck(fault=False))


def test_a_backend_that_was_never_built_is_not_judged():
    recorder = Recorder()
    recorder.failing("construct", "no")
    assert not CHECKER.applies(recorder.history())

"""Who is asked for answers at all."""

from __future__ import annotations

import pytest

from harness.checkers import failure_attributed
from harness.checkers._leaving import LEAVING_FAULTS
from harness.checkers._shared import HOLDING_FAULTS, LOSING_FAULTS, POOL, AnswerChecker
from harness.checkers.acks_aligned import EXCUSES
from harness.engine.components import COMPONENTS
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


KNOWN = frozenset({*COMPONENTS["pool"].faults, *COMPONENTS["weights"].faults})
LOSING_NOTHING = frozenset(
    {
        "bad_weights",  # a send of weights, which has no rows
        "collect_cycle",  # of another pool
        "delay_transfer",
        "duplicate_transfer",
        "reorder_transfer",
        # A call that one of these costs an answer fails, which excuses by itself.
        "fill_channel",
        "full_shared_memory",
        "limit",
        "one_processor",
        "signal_owner",
    }
)


def test_of_every_fault_it_is_said_whether_it_holds_or_may_lose_an_answer():
    assert HOLDING_FAULTS | LOSING_FAULTS | LOSING_NOTHING == KNOWN
    assert not LOSING_FAULTS & (LOSING_NOTHING | HOLDING_FAULTS)


@pytest.mark.parametrize(
    "names",
    [HOLDING_FAULTS, LOSING_FAULTS, LEAVING_FAULTS, EXCUSES, failure_attributed.FAULTS],
)
def test_checkers_name_faults_that_there_are(names: frozenset[str]):
    assert names <= KNOWN

"""What was handed out stays as it was."""

from __future__ import annotations

from typing import Any

from harness.checkers.ownership import CHECKER
from harness.model.history import Event, Kind
from tests.unit.harness.checkers.histories import Recorder, texts


def handed_out(recorder: Recorder, batch: int, digest: str, op: str = "step") -> Event:
    """A call that returns a batch; its request id is the position of its invocation."""
    return recorder.ok(recorder.invoke(op), rows=[], batch=batch, digest=digest)


def look(recorder: Recorder, **digests: Any) -> Event:
    found = {name.removeprefix("b"): digest for name, digest in digests.items()}
    return recorder.write(Kind.OBSERVE, "held", digests=found)


def test_batches_that_stay_as_they_were_pass():
    recorder = Recorder()
    handed_out(recorder, 1, "aa")
    look(recorder, b1="aa")
    handed_out(recorder, 2, "bb")
    look(recorder, b1="aa", b2="bb")
    judgement = CHECKER.check(recorder.history())
    assert (texts(judgement), judgement.judged) == ([], 3)


def test_a_batch_that_a_later_call_changes_is_found_with_both_calls():
    recorder = Recorder()
    first = handed_out(recorder, 1, "aa", op="reset")
    look(recorder, b1="aa")
    handed_out(recorder, 2, "bb")
    seen = look(recorder, b1="bb", b2="bb")
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text == (
        "what reset (request 0) had handed out changed during step (request 3), and nobody but "
        "its owner may write into it"
    )
    assert {first.seq, seen.seq} <= set(finding.events)


def test_a_batch_is_found_once_however_often_it_changes():
    recorder = Recorder()
    handed_out(recorder, 1, "aa")
    look(recorder, b1="aa")
    for digest in ("bb", "cc"):
        recorder.call("send")
        look(recorder, b1=digest)
    assert len(CHECKER.check(recorder.history()).findings) == 1


def test_a_call_that_fails_may_not_change_a_batch_either():
    recorder = Recorder()
    handed_out(recorder, 1, "aa")
    look(recorder, b1="aa")
    recorder.failing("step")
    look(recorder, b1="bb")
    assert len(CHECKER.check(recorder.history()).findings) == 1


def test_it_applies_once_a_batch_was_handed_out():
    recorder = Recorder()
    recorder.failing("reset")
    assert not CHECKER.applies(recorder.history())
    handed_out(recorder, 1, "aa")
    assert CHECKER.applies(recorder.history())


def test_a_batch_that_nobody_looked_at_again_is_no_evidence():
    recorder = Recorder()
    handed_out(recorder, 1, "aa")
    assert CHECKER.check(recorder.history()).judged == 0

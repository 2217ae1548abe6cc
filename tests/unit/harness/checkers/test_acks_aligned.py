"""An acknowledgement answers its own send."""

from __future__ import annotations

import pytest

from harness.checkers.acks_aligned import CHECKER
from tests.unit.harness.checkers.histories import Recorder, texts


def sent(recorder: Recorder, version: int, *, ok: bool = True, defect: str | None = None) -> None:
    invoked = recorder.invoke("send", version=version, how="fresh", defect=defect)
    if ok:
        recorder.ok(invoked)
    else:
        recorder.fail(invoked, "worker 0: size mismatch")


def found(recorder: Recorder, *faults: tuple[str, str]) -> list[str]:
    return texts(CHECKER.check(recorder.history(faults=faults)))


def test_sends_that_end_as_their_weights_deserve_pass():
    recorder = Recorder("weights")
    sent(recorder, 2)
    recorder.forward((2, 2, 2))
    sent(recorder, 3, ok=False, defect="wrong_key")
    recorder.forward((2, 2, 2))
    sent(recorder, 4)
    recorder.forward((4, 4, 4))
    judgement = CHECKER.check(recorder.history())
    assert (judgement.findings, judgement.judged) == ((), 3)


def test_a_send_that_never_ended_is_no_evidence():
    recorder = Recorder("weights")
    recorder.invoke("send", version=2, how="fresh", defect=None)
    assert CHECKER.check(recorder.history()).judged == 0


def test_a_defective_send_that_returns_is_found():
    recorder = Recorder("weights")
    sent(recorder, 2, defect="wrong_shape")
    assert found(recorder) == [
        "send (request 0) returned although no worker can apply its weights (wrong_shape)"
    ]


def test_a_valid_send_that_gets_the_ack_of_a_defective_one_is_found():
    recorder = Recorder("weights")
    sent(recorder, 2, ok=False, defect="wrong_shape")
    sent(recorder, 3, ok=False)
    assert found(recorder) == [
        "send (request 2) of valid weights raised RuntimeError: worker 0: size mismatch: an ack of "
        "send (request 0) answered the wrong send"
    ]


def test_a_valid_send_that_fails_by_itself_is_found():
    recorder = Recorder("weights")
    sent(recorder, 3, ok=False)
    assert found(recorder) == [
        "send (request 0) of valid weights raised RuntimeError: worker 0: size mismatch"
    ]


@pytest.mark.parametrize("fault", ["hold_forward", "signal"])
def test_a_valid_send_may_fail_while_a_fault_keeps_a_worker_from_answering(fault):
    recorder = Recorder("weights")
    recorder.fault("f1", "reached")
    sent(recorder, 2, ok=False)
    assert found(recorder, (fault, "f1")) == []


def test_a_valid_send_must_not_fail_after_the_hold_has_ended():
    recorder = Recorder("weights")
    recorder.fault("f1", "reached")
    recorder.fault("f1", "healed")
    sent(recorder, 2, ok=False)
    assert len(found(recorder, ("hold_forward", "f1"))) == 1


def test_a_version_that_was_refused_and_is_acted_on_is_found():
    recorder = Recorder("weights")
    sent(recorder, 2)
    sent(recorder, 3, ok=False, defect="wrong_shape")
    recorder.forward((3, 2, 2))
    assert found(recorder) == [
        "worker 0 acted on version 3 in forward (request 4), which send (request 2) could not have "
        "applied"
    ]


def test_a_send_that_failed_is_not_owed_to_a_forward():
    recorder = Recorder("weights")
    recorder.fault("f1", "reached")
    sent(recorder, 2, ok=False)
    recorder.forward((1, 1, 1), (2, 2, 2))
    assert found(recorder, ("hold_forward", "f1")) == []


def test_a_refused_version_that_is_sent_whole_later_passes():
    recorder = Recorder("weights")
    sent(recorder, 2, ok=False, defect="wrong_key")
    sent(recorder, 2)
    recorder.forward((2, 2, 2))
    assert found(recorder) == []


def test_a_version_of_nobody_is_left_to_another_checker():
    recorder = Recorder("weights")
    sent(recorder, 2)
    recorder.forward((9, 9, 9))
    assert found(recorder) == []


def test_a_forward_that_failed_shows_nothing():
    recorder = Recorder("weights")
    sent(recorder, 2)
    recorder.failing("forward", rows=[{"worker": 0, "first": 1, "last": 1, "buffer": 1}])
    assert found(recorder) == []


def test_a_wait_for_a_defective_send_that_returns_is_found():
    recorder = Recorder("weights")
    recorder.call("send_async", version=2, how="fresh", defect="wrong_key")
    recorder.call("wait_async")
    assert found(recorder) == [
        "wait_async (request 2) returned although no worker can apply its weights (wrong_key)"
    ]


def test_a_send_after_the_end_of_it_all_is_refused_rightly():
    recorder = Recorder("weights")
    recorder.call("shutdown")
    sent(recorder, 2, ok=False)
    assert found(recorder) == []

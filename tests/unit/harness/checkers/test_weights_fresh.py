"""After a send returned its targets act on it or newer, others are untouched, nobody goes back."""

from __future__ import annotations

from typing import Any

from harness.checkers.weights_fresh import CHECKER
from tests.unit.harness.checkers.histories import Recorder, texts


def sent(recorder: Recorder, version: int, *, ok: bool = True, **more: Any) -> None:
    given = {"how": "fresh", "defect": None, **more}
    invoked = recorder.invoke("send", version=version, **given)
    if ok:
        recorder.ok(invoked)
    else:
        recorder.fail(invoked, "worker 0: size mismatch")


def acting(recorder: Recorder, *rows: dict[str, int]) -> None:
    whole = [{"last": row["first"], "buffer": row["first"], **row} for row in rows]
    recorder.ok(recorder.invoke("forward"), rows=whole)


def found(recorder: Recorder, *faults: tuple[str, str]) -> list[str]:
    return texts(CHECKER.check(recorder.history(faults=faults)))


def test_workers_that_follow_the_sends_pass():
    recorder = Recorder("weights")
    recorder.forward((1, 1, 1), (1, 1, 1))
    sent(recorder, 2)
    recorder.forward((2, 2, 2), (2, 2, 2))
    judgement = CHECKER.check(recorder.history())
    assert (judgement.findings, judgement.judged) == ((), 4)


def test_sends_without_a_forward_are_no_evidence():
    recorder = Recorder("weights")
    sent(recorder, 2)
    assert not CHECKER.applies(recorder.history())
    assert CHECKER.check(recorder.history()).judged == 0


def test_an_older_version_after_a_send_returned_is_found():
    recorder = Recorder("weights")
    sent(recorder, 2)
    sent(recorder, 3)
    recorder.forward((3, 3, 3), (2, 2, 2), (1, 1, 1))
    after = "in forward (request 4), after send (request 2) of version 3 had returned"
    assert found(recorder) == [
        f"worker 1 acted on version 2 {after}",
        f"worker 2 acted on version 1 {after}",
    ]


def test_a_newer_version_that_is_still_being_sent_passes():
    recorder = Recorder("weights")
    sent(recorder, 2)
    recorder.invoke("send", version=3, how="fresh", defect=None)
    recorder.forward((3, 3, 3), (2, 2, 2))
    assert found(recorder) == []


def test_a_version_that_is_sent_again_is_not_older():
    recorder = Recorder("weights")
    for version in (2, 3, 2):
        sent(recorder, version)
    recorder.forward((2, 2, 2))
    assert found(recorder) == []


def test_the_first_version_passes_until_a_send_has_returned():
    recorder = Recorder("weights")
    recorder.forward((1, 1, 1))
    sent(recorder, 2, ok=False, defect="wrong_key")
    recorder.forward((1, 1, 1))
    assert found(recorder) == []


def test_a_send_that_returns_during_a_forward_may_come_too_late_for_it():
    recorder = Recorder("weights")
    forward = recorder.invoke("forward")
    sent(recorder, 2)
    recorder.ok(forward, rows=[{"worker": 0, "first": 1, "last": 1, "buffer": 1}])
    assert found(recorder) == []


def test_a_version_that_was_sent_to_others_only_is_found():
    recorder = Recorder("weights")
    sent(recorder, 2, workers=[0])
    recorder.forward((2, 2, 2), (2, 2, 2))
    assert found(recorder) == [
        "worker 1 acted on version 2 in forward (request 2), which send (request 0) had sent to others only"
    ]


def test_workers_that_were_not_meant_keep_their_version():
    recorder = Recorder("weights")
    sent(recorder, 2, workers=[0])
    recorder.forward((2, 2, 2), (1, 1, 1))
    assert found(recorder) == []


def test_a_worker_that_goes_back_is_found_although_the_newer_send_had_failed():
    recorder = Recorder("weights")
    sent(recorder, 2)
    sent(recorder, 3, ok=False)
    recorder.forward((3, 3, 3))
    recorder.forward((2, 2, 2))
    assert found(recorder) == [
        "worker 0 went back from version 3 in forward (request 4) to version 2 in forward (request 6)"
    ]


def test_a_frame_that_was_begun_before_the_send_returned_may_be_older():
    recorder = Recorder("weights")
    early = recorder.invoke("forward").ts_ns
    sent(recorder, 2)
    acting(recorder, {"worker": 0, "first": 1, "began_ns": early})
    assert found(recorder) == []


def test_what_was_begun_to_be_sent_is_owed_once_somebody_has_waited():
    recorder = Recorder("weights")
    recorder.call("send_async", version=2, how="fresh", defect=None)
    recorder.forward((1, 1, 1))
    recorder.call("wait_async")
    recorder.forward((1, 1, 1))
    assert found(recorder) == [
        "worker 0 acted on version 1 in forward (request 6), after send_async (request 0) of version 2 had returned"
    ]


def test_one_name_for_two_versions_is_found():
    recorder = Recorder("weights")
    acting(recorder, {"worker": 0, "first": 1, "label": 7})
    sent(recorder, 2)
    acting(recorder, {"worker": 0, "first": 2, "label": 7})
    assert found(recorder) == [
        "worker 0 says that it acted on its version 7 both in forward (request 0), where that was "
        "version 1, and in forward (request 4), where it was version 2"
    ]


def test_another_worker_may_have_the_name_for_another_version():
    recorder = Recorder("weights")
    sent(recorder, 2, workers=[1])
    acting(
        recorder,
        {"worker": 0, "first": 1, "label": 1},
        {"worker": 1, "first": 2, "label": 1},
    )
    assert found(recorder) == []


def test_a_name_that_was_given_beside_a_send_tells_nothing():
    recorder = Recorder("weights")
    early = recorder.invoke("forward")
    sent(recorder, 2)
    row = {"worker": 0, "first": 1, "last": 1, "buffer": 1, "label": 1}
    recorder.ok(early, rows=[row])
    acting(recorder, {"worker": 0, "first": 2, "label": 1})
    assert found(recorder) == []


def test_after_a_race_its_last_version_is_in_force():
    recorder = Recorder("weights")
    recorder.call("race", sends=3, versions_from=2)
    recorder.forward((4, 4, 4), (3, 3, 3))
    history = recorder.history()
    assert CHECKER.applies(history)
    assert texts(CHECKER.check(history)) == [
        "worker 1 acted on version 3 in forward (request 2), after race (request 0) of version 4 "
        "had returned"
    ]


def test_of_a_race_that_failed_any_version_may_be_held():
    recorder = Recorder("weights")
    recorder.failing("race", sends=3, versions_from=2)
    recorder.forward((4, 4, 4), (1, 1, 1))
    assert texts(CHECKER.check(recorder.history())) == []

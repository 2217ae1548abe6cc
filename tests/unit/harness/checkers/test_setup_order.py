"""What has no meaning is refused before any effect, and who joins later gets the current version."""

from __future__ import annotations

from harness.checkers.setup_order import CHECKER
from tests.unit.harness.checkers.histories import Recorder, texts


def sent(recorder: Recorder, version: int) -> None:
    recorder.call("send", version=version, how="fresh", defect=None)


def found(recorder: Recorder) -> list[str]:
    return texts(CHECKER.check(recorder.history()))


def test_a_call_that_is_refused_and_changes_nothing_passes():
    recorder = Recorder("weights")
    recorder.fail(recorder.invoke("misuse", what="no_worker"), "no worker", error="ValueError")
    recorder.forward((1, 1, 1))
    judgement = CHECKER.check(recorder.history())
    assert (judgement.findings, judgement.judged) == ((), 1)


def test_a_call_that_never_ended_is_no_evidence():
    recorder = Recorder("weights")
    recorder.invoke("misuse", what="no_worker")
    assert CHECKER.check(recorder.history()).judged == 0


def test_a_call_that_returns_is_found():
    recorder = Recorder("weights")
    recorder.call("misuse", what="no_worker")
    assert found(recorder) == ["misuse (request 0) returned: no_worker was not refused"]


def test_a_call_that_falls_over_is_found():
    recorder = Recorder("weights")
    invoked = recorder.invoke("misuse", what="before_setup")
    recorder.fail(invoked, "'NoneType' object has no attribute 'send'", error="AttributeError")
    assert found(recorder) == [
        "misuse (request 0): before_setup was not refused, it fell over: AttributeError: 'NoneType' "
        "object has no attribute 'send'"
    ]


def test_a_refused_call_that_has_an_effect_is_found():
    recorder = Recorder("weights")
    recorder.fail(recorder.invoke("misuse", what="worker_twice"), "twice", error="ValueError")
    recorder.forward((0, 0, 0))
    assert found(recorder) == [
        "worker 0 acted in forward (request 2) on what misuse (request 0) carried (worker_twice)"
    ]


def test_a_new_worker_that_acts_on_the_version_in_force_passes():
    recorder = Recorder("weights")
    sent(recorder, 2)
    recorder.call("restart_worker", worker=1)
    recorder.forward((2, 2, 2), (2, 2, 2))
    assert found(recorder) == []


def test_a_new_worker_that_acts_on_an_old_version_is_found():
    recorder = Recorder("weights")
    sent(recorder, 2)
    recorder.call("restart_worker", worker=1)
    recorder.forward((2, 2, 2), (1, 1, 1))
    assert found(recorder) == [
        "worker 1, started anew by restart_worker (request 2), acted on version 1 in forward "
        "(request 4): version 2 was in force"
    ]


def set_up(*rows: tuple[int, int, int]) -> list[str]:
    recorder = Recorder("weights")
    names = ("first", "last", "buffer")
    held = [{"worker": w, **dict(zip(names, row, strict=True))} for w, row in enumerate(rows)]
    recorder.ok(recorder.invoke("set_up", versions=[7, 8]), rows=held)
    return found(recorder)


def test_workers_that_are_given_what_was_meant_for_them_pass():
    assert set_up((7, 7, 7), (8, 8, 8)) == []


def test_a_worker_that_is_given_what_was_meant_for_another_is_found():
    assert set_up((7, 7, 7), (7, 7, 7)) == [
        "set_up (request 0) gave worker 1 version 7: 8 was meant for it"
    ]


def test_a_worker_that_a_set_up_has_no_row_of_is_found():
    assert set_up((7, 7, 7)) == ["set_up (request 0) has no row of workers [1]"]


def test_a_set_up_that_failed_is_not_judged_here():
    recorder = Recorder("weights")
    recorder.fail(recorder.invoke("set_up", versions=[7, 8]), "no", error="ValueError")
    assert found(recorder) == []


def test_a_new_worker_may_act_on_what_was_sent_since():
    recorder = Recorder("weights")
    recorder.call("restart_worker", worker=0)
    sent(recorder, 2)
    recorder.forward((2, 2, 2))
    assert found(recorder) == []


def test_after_a_race_that_failed_nobody_knows_which_version_a_new_worker_gets():
    recorder = Recorder("weights")
    recorder.failing("race", sends=3, versions_from=2)
    recorder.call("restart_worker", worker=0)
    recorder.forward((3, 3, 3))
    assert found(recorder) == []

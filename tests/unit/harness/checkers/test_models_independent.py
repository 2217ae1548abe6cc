"""Each model reaches its own target, and moves no other."""

from __future__ import annotations

from typing import Any

from harness.checkers.models_independent import CHECKER
from tests.unit.harness.checkers.histories import Recorder, texts

SEVERAL = {"models": "policy_and_value"}


def sent(recorder: Recorder, version: int, model: str) -> None:
    recorder.call("send", version=version, how="fresh", defect=None, model=model)


def acting(recorder: Recorder, first: int, **more: Any) -> None:
    row = {"worker": 0, "first": first, "last": first, "buffer": first, **more}
    recorder.ok(recorder.invoke("forward"), rows=[row])


def found(recorder: Recorder) -> list[str]:
    return texts(CHECKER.check(recorder.history(setup=SEVERAL)))


def test_models_that_follow_their_own_sends_pass():
    recorder = Recorder("weights")
    acting(recorder, 1, value=1, label=0)
    sent(recorder, 2, "policy")
    acting(recorder, 2, value=1, label=1)
    sent(recorder, 3, "value")
    acting(recorder, 2, value=3, label=1)
    judgement = CHECKER.check(recorder.history(setup=SEVERAL))
    assert (judgement.findings, judgement.judged) == ((), 3)


def test_forwards_that_show_no_value_are_no_evidence():
    recorder = Recorder("weights")
    acting(recorder, 1)
    assert CHECKER.check(recorder.history(setup=SEVERAL)).judged == 0


def test_it_applies_where_there_are_several_models():
    recorder = Recorder("weights")
    acting(recorder, 1)
    assert CHECKER.applies(recorder.history(setup=SEVERAL))
    assert not CHECKER.applies(recorder.history(setup={"models": "policy"}))


def test_a_value_network_that_keeps_its_version_is_found():
    recorder = Recorder("weights")
    sent(recorder, 3, "value")
    acting(recorder, 1, value=1)
    assert found(recorder) == [
        "the value network of worker 0 held version 1 in forward (request 2), after send (request 0) "
        "of version 3 had returned"
    ]


def test_a_value_network_that_gets_the_policys_version_is_found():
    recorder = Recorder("weights")
    sent(recorder, 2, "policy")
    acting(recorder, 2, value=2)
    assert found(recorder) == [
        "the value network of worker 0 held version 2 in forward (request 2), and nothing was ever sent to it"
    ]


def test_a_mixture_is_found():
    recorder = Recorder("weights")
    acting(recorder, 1, value=-1)
    assert "held a mixture of versions" in found(recorder)[0]


def test_a_policys_version_that_a_value_network_moves_is_found():
    recorder = Recorder("weights")
    acting(recorder, 1, value=1, label=0)
    sent(recorder, 3, "value")
    acting(recorder, 1, value=3, label=1)
    assert found(recorder) == [
        "send (request 2) of a value network moved the policy's version of worker 0 from 0 to 1"
    ]


def test_a_policy_that_was_begun_to_be_sent_may_move_its_version_until_somebody_has_waited():
    recorder = Recorder("weights")
    sent(recorder, 3, "value")
    recorder.call("send_async", version=2, how="fresh", defect=None)
    acting(recorder, 1, value=3, label=0)
    recorder.call("wait_async")
    acting(recorder, 2, value=3, label=1)
    assert found(recorder) == []

"""Workers act only on versions that were sent."""

from __future__ import annotations

from harness.checkers.weights_isolated import CHECKER
from harness.model.verdict import Contract
from tests.unit.harness.checkers.histories import Recorder, contracts, texts


def test_the_first_version_and_those_that_were_sent_pass():
    recorder = Recorder("weights")
    recorder.forward((1, 1, 1))
    recorder.call("mutate", version=3)
    recorder.call("send", version=2, how="fresh", defect=None)
    recorder.forward((2, 2, 2))
    judgement = CHECKER.check(recorder.history())
    assert (judgement.findings, judgement.judged) == ((), 2)


def test_a_history_without_a_forward_is_no_evidence():
    recorder = Recorder("weights")
    recorder.call("send", version=2, how="fresh", defect=None)
    assert CHECKER.check(recorder.history()).judged == 0


def test_a_version_that_is_sent_during_the_forward_passes():
    recorder = Recorder("weights")
    forward = recorder.invoke("forward")
    recorder.invoke("send", version=2, how="fresh", defect=None)
    recorder.ok(forward, rows=[{"worker": 0, "first": 2, "last": 2, "buffer": 2}])
    assert texts(CHECKER.check(recorder.history())) == []


def test_a_version_that_was_only_filled_in_is_found():
    recorder = Recorder("weights")
    recorder.call("mutate", version=3)
    recorder.forward((3, 3, 3))
    (finding,) = CHECKER.check(recorder.history()).findings
    assert finding.text == (
        "worker 0 acted on version 3 in forward (request 2), which was never sent: mutate "
        "(request 0) filled the trainer's own parameters; the scheme is documented as sending weight copies"
    )
    assert finding.contract is Contract.DOCUMENTED
    assert finding.events == (0, 1, 2, 3)


def test_each_version_of_a_torn_row_is_judged():
    recorder = Recorder("weights")
    recorder.call("mutate", version=3)
    recorder.forward((1, 3, 4))
    found = texts(CHECKER.check(recorder.history()))
    assert ["version 3" in text for text in found] == [True, False]
    assert "version 4 in forward (request 2), which nothing had been filled with" in found[1]


def test_a_version_from_a_later_send_is_found():
    recorder = Recorder("weights")
    recorder.forward((2, 2, 2))
    recorder.call("send", version=2, how="fresh", defect=None)
    assert contracts(CHECKER.check(recorder.history())) == [Contract.EQUIVALENCE]


def test_a_version_that_only_a_defective_send_carried_is_found():
    recorder = Recorder("weights")
    recorder.failing("send", version=2, how="fresh", defect="wrong_shape")
    recorder.forward((2, 1, 1))
    assert texts(CHECKER.check(recorder.history())) == [
        "worker 0 acted on version 2 in forward (request 2), which only the defective send "
        "(request 0) carried"
    ]


def test_what_shared_memory_shows_unsent_is_an_opinion():
    recorder = Recorder("weights")
    recorder.call("mutate", version=3)
    recorder.forward((3, 3, 3))
    history = recorder.history(setup={"scheme": "shared"})
    assert contracts(CHECKER.check(history)) == [Contract.OPINION]


def test_shared_memory_that_promises_to_isolate_is_held_to_that():
    recorder = Recorder("weights")
    recorder.call("mutate", version=3)
    recorder.forward((3, 3, 3))
    shared = {"scheme": "shared"}
    (told,) = CHECKER.check(recorder.history(setup=shared)).findings
    promised = recorder.history(setup=shared, properties={"isolates": ["copy", "shared"]})
    (held,) = CHECKER.check(promised).findings
    assert (told.contract, held.contract) == (Contract.OPINION, Contract.DOCUMENTED)


def test_the_versions_of_a_race_were_sent():
    recorder = Recorder("weights")
    recorder.call("race", sends=3, versions_from=4)
    recorder.forward((6, 6, 6), (7, 7, 7))
    assert texts(CHECKER.check(recorder.history())) == [
        "worker 1 acted on version 7 in forward (request 2), which nothing had been filled with"
    ]


def test_a_defective_send_that_is_not_waited_for_is_told_as_a_send():
    recorder = Recorder("weights")
    recorder.call("send_async", version=2, how="fresh", defect="wrong_shape")
    recorder.forward((2, 2, 2))
    assert texts(CHECKER.check(recorder.history())) == [
        "worker 0 acted on version 2 in forward (request 2), which only the defective send_async "
        "(request 0) carried"
    ]

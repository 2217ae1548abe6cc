"""Sends that nobody waits for at once are waited for together, and their snapshots were taken when they were sent."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from reference_impl.core.errors import WorkerError
from reference_impl.weights import (
    AnswerTimeout,
    MultiProcessWeightSyncScheme,
    PolicyWorkers,
    SharedMemWeightSyncScheme,
    WorkersFailed,
)
from reference_impl.weights.outgoing import UNWAITED_MAX
from tests.unit.reference_impl.weights.policies import (
    HOLD,
    Call,
    Gated,
    TwoReads,
    make_workers,
    weights,
)
from tests.unit.reference_impl.weights.setups import Receivers, td

each_scheme = pytest.mark.parametrize(
    "kind", [MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme], ids=["copy", "shared"]
)


@each_scheme
def test_what_was_sent_is_held_once_it_was_waited_for(kind):
    workers, scheme = make_workers(TwoReads, start_method="fork", kind=kind)
    with workers:
        assert [scheme.send_async(weights(float(v))) for v in (1, 2, 3)] == [1, 2, 3]
        assert scheme.wait_async() == 3
        assert workers.forward() == [[3.0] * 3] * 2


def test_the_snapshot_is_taken_when_it_is_sent(gate):
    workers, scheme = make_workers(lambda: Gated(gate), start_method="fork", num_workers=1)
    trainer = TwoReads(1.0)
    with workers:
        forward = Call(workers.forward, HOLD)
        gate.wait_entered()
        scheme.send_async(trainer)
        with torch.no_grad():
            for tensor in (*trainer.parameters(), *trainer.buffers()):
                tensor.fill_(9.0)
        gate.open()
        forward.wait()
        scheme.wait_async()
        assert workers.forward() == [[1.0] * 3]


def test_a_send_that_is_not_waited_for_does_not_wait(gate):
    workers, scheme = make_workers(lambda: Gated(gate), start_method="fork", num_workers=1)
    with workers:
        forward = Call(workers.forward, HOLD)
        gate.wait_entered()
        scheme.send_async(weights(1.0))
        with pytest.raises(AnswerTimeout, match="worker 0"):
            scheme.wait_async(timeout=0.05)
        gate.open()
        forward.wait()


@each_scheme
def test_a_worker_that_is_connected_again_before_anybody_has_waited_keeps_what_was_sent(kind):
    workers, scheme = make_workers(TwoReads, start_method="fork", kind=kind, num_workers=1)
    with workers:
        scheme.send(weights(1.0))
        assert scheme.send_async(weights(2.0)) == 2
        scheme.connect(worker_idx=0)
        assert scheme.wait_async() == 2
        assert workers.forward() == [[2.0] * 3]
        workers.restart(0)
        assert workers.forward() == [[2.0] * 3]


def test_failures_of_all_that_was_not_waited_for_are_told_together():
    workers, scheme = make_workers(TwoReads, start_method="fork")
    with workers:
        for value in (1.0, 2.0):
            scheme.send_async({"first": torch.full((3,), value)})
        scheme.send_async(weights(3.0))
        with pytest.raises(WorkersFailed) as caught:
            scheme.wait_async()
        assert [failure.worker for failure in caught.value.failures] == [0, 1, 0, 1]
        assert scheme.wait_async() == 3
        assert workers.forward() == [[3.0] * 3] * 2


def test_an_interrupted_wait_leaves_the_later_sends_to_be_waited_for(monkeypatch):
    workers, scheme = make_workers(TwoReads, start_method="fork", num_workers=1)

    def interrupted(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt  # while the first is waited for

    with workers:
        scheme.send_async(weights(1.0))
        scheme.send_async({"first": torch.ones(3)})
        monkeypatch.setattr(scheme.sender, "gather", interrupted)
        with pytest.raises(KeyboardInterrupt):
            scheme.wait_async()
        with pytest.raises(WorkerError, match="worker 0"):
            scheme.wait_async()


def test_the_snapshot_of_an_interrupted_send_is_not_kept(monkeypatch):
    workers, scheme = make_workers(TwoReads, start_method="fork", num_workers=1)
    talk = scheme.sender.conversation

    def interrupted(*given):
        monkeypatch.undo()
        talk.post(*given)
        raise KeyboardInterrupt

    with workers:
        for value in range(5):
            monkeypatch.setattr(talk, "post", interrupted)
            with pytest.raises(KeyboardInterrupt):
                scheme.send(weights(float(value)))
            scheme.send(weights(9.0))
        assert scheme.sender.slot_count <= 3


def test_an_interrupted_connection_leaves_no_request_open(monkeypatch, scheme):
    scheme.init_on_sender(params_map={0: td(1.0), 1: td(2.0)})
    receivers = Receivers(scheme, num_workers=2)
    scheme.connect()
    bring = scheme.sender.bring
    brought: list[int] = []

    def interrupted(worker):
        if brought:
            raise KeyboardInterrupt
        brought.append(worker)
        return bring(worker)

    with monkeypatch.context() as patched:
        patched.setattr(scheme.sender, "bring", interrupted)
        with pytest.raises(KeyboardInterrupt):
            scheme.synchronize_weights()
    ledger = scheme.sender.conversation.ledger
    assert not any(ledger.is_open(request) for request in range(ledger.issued + 1))
    assert scheme.send() == 1
    receivers.stop()


def test_a_send_that_was_interrupted_when_it_was_noted_is_not_waited_for(scheme, monkeypatch):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()

    class Interrupting(list[int]):
        def append(self, request) -> None:
            super().append(request)
            raise KeyboardInterrupt

    scheme._out._unwaited = Interrupting()
    with monkeypatch.context() as patched:
        patched.setattr(scheme._out, "_tidy", lambda: None)  # it makes a list of its own
        with pytest.raises(KeyboardInterrupt):
            scheme.send_async(weights(2.0))
    assert scheme.send(weights(3.0)) == scheme.wait_async() == 2
    receivers.stop()


def test_a_send_that_is_waited_for_is_not_told_what_another_did():
    workers, scheme = make_workers(TwoReads, start_method="fork")
    with workers:
        scheme.send_async({"first": torch.ones(3)}, worker_ids=0)
        assert scheme.send(weights(2.0)) == 2
        with pytest.raises(WorkerError, match="worker 0"):
            scheme.wait_async()


def test_how_many_sends_may_fail_unseen_is_bounded():
    workers, scheme = make_workers(TwoReads, start_method="thread", num_workers=1)
    with workers:
        error = Call(send_until_refused, scheme)
        error.wait()
        assert "wait_async" in str(error.error)
        with pytest.raises(WorkerError):
            scheme.wait_async()
        assert scheme.send(weights(1.0)) > 0


def send_until_refused(scheme) -> None:
    for _ in range(2 * UNWAITED_MAX):
        scheme.send_async({"first": torch.ones(3)})


def test_sends_that_are_simply_done_are_not_counted():
    workers, scheme = make_workers(TwoReads, start_method="thread", num_workers=1)
    with workers:
        for _ in range(2 * UNWAITED_MAX):
            scheme.send_async(weights(1.0))
            scheme.wait_async()
        assert scheme._out._unwaited == []


def test_a_scheme_that_is_not_in_step_leaves_the_waiting_to_its_user():
    scheme: Any = MultiProcessWeightSyncScheme(sync=False)
    scheme.init_on_sender(model=TwoReads(0.0), num_workers=1)
    with PolicyWorkers(TwoReads, 1, scheme=scheme, start_method="fork") as workers:
        scheme.send({"first": torch.ones(3)})
        with pytest.raises(WorkerError, match="WeightsMismatch"):
            scheme.wait_async()
        scheme.send(weights(4.0))
        scheme.wait_async()
        assert workers.forward() == [[4.0] * 3]


def test_waiting_for_nothing_is_no_mistake():
    workers, scheme = make_workers(TwoReads, start_method="thread", num_workers=1)
    with workers:
        assert scheme.wait_async() == 0

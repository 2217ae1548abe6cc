"""Sends: isolated, whole, acknowledged by id, and honest about every worker that did not take them."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from reference_impl.weights import AnswerTimeout, MultiProcessWeightSyncScheme
from reference_impl.weights.ledger import UNANSWERED_MAX, DropReason
from tests.stopping import stop
from tests.unit.reference_impl.weights.policies import (
    HOLD,
    WAIT_S,
    Call,
    Gated,
    RaisesHalfWay,
    TwoReads,
    make_workers,
    weights,
)

both = pytest.mark.parametrize("start_method", ["fork", "thread"])


@pytest.fixture(params=["fork", "thread"])
def pair(request) -> Any:
    workers, scheme = make_workers(TwoReads, start_method=request.param)
    with workers:
        yield workers, scheme


@pytest.fixture
def held(request, gate) -> Any:
    """Two workers, the second of which is half-way through a forward with version 0."""
    workers, scheme = make_workers(lambda: Gated(gate), start_method=request.param)
    with workers:
        call = Call(workers.forward, HOLD, worker_ids=1)
        gate.wait_entered()
        yield workers, scheme, call
        gate.open()  # once too often where the test has opened it: nobody waits then
        call.wait()


held_both = pytest.mark.parametrize("held", ["fork", "thread"], indirect=True)
held_fork = pytest.mark.parametrize("held", ["fork"], indirect=True)


def dropped(scheme) -> Any:
    return [(ack.worker, ack.reason) for ack in scheme.sender.conversation.ledger.dropped]


def send_until_only_the_held_one_is_late(scheme, source) -> None:
    """Send, and give up as soon as the worker that is not held has answered, however long that takes."""
    scheme.send_async(source)
    assert channel.wait(scheme.channels()["acks"][:1], (), Deadline.after(WAIT_S))
    scheme.wait_async(timeout=0.0)


def wait_until_version(scheme, version) -> bool:
    """Look again and again whether the version has been begun, up to a deadline."""
    deadline = Deadline.after(WAIT_S)
    while scheme.version < version and not deadline.expired:
        channel.wait((), (), Deadline.after(0.005))
    return bool(scheme.version == version)


def test_versions_count_the_sends(pair):
    _, scheme = pair
    assert [scheme.version, scheme.send(), scheme.send(), scheme.version] == [0, 1, 2, 2]


@pytest.mark.parametrize(
    "source",
    [TwoReads(5.0), TensorDict.from_module(TwoReads(5.0)), weights(5.0)],
    ids=["module", "tensordict", "mapping"],
)
def test_weights_of_every_kind_reach_every_worker(pair, source):
    workers, scheme = pair
    scheme.send(source)
    assert workers.forward() == [[5.0] * 3] * 2


def test_the_second_of_two_sends_in_a_row_is_acted_on(pair):
    workers, scheme = pair
    scheme.send(weights(1.0))
    scheme.send(weights(2.0))
    assert workers.forward() == [[2.0] * 3] * 2


def test_workers_do_not_see_what_the_trainer_does_after_the_send(pair):
    workers, scheme = pair
    trainer = TwoReads(1.0)
    scheme.send(trainer)
    with torch.no_grad():
        for tensor in (*trainer.parameters(), *trainer.buffers()):
            tensor.fill_(9.0)
    assert workers.forward() == [[1.0] * 3] * 2


def test_the_trainers_tensors_are_only_read(pair):
    _, scheme = pair
    trainer = TwoReads(1.0)
    before = [(t, t.data_ptr(), t._version) for t in trainer.state_dict(keep_vars=True).values()]
    scheme.send(trainer)
    after = [(t, t.data_ptr(), t._version) for t in trainer.state_dict(keep_vars=True).values()]
    assert all(a is b and x == y for (a, *x), (b, *y) in zip(before, after, strict=True))
    assert trainer(None) == [1.0] * 3


def test_workers_that_are_no_targets_are_left_alone(pair):
    workers, scheme = pair
    scheme.send(weights(3.0), worker_ids=[1])
    assert workers.forward() == [[0.0] * 3, [3.0] * 3]


@held_both
def test_a_forward_that_is_held_half_way_acts_on_one_version(held, gate):
    _, scheme, forward = held
    with pytest.raises(AnswerTimeout, match="worker 1"):
        send_until_only_the_held_one_is_late(scheme, weights(7.0))
    gate.open()
    assert forward.wait() == [[0.0] * 3]


@held_both
def test_a_send_ends_when_the_forward_that_held_it_up_does(held, gate):
    workers, scheme, forward = held
    send = Call(scheme.send, weights(7.0))
    gate.open()
    forward.wait()
    assert send.wait() == 1
    assert workers.forward(worker_ids=1) == [[7.0] * 3]


@held_both
def test_a_late_ack_does_not_answer_the_next_send(held, gate):
    workers, scheme, forward = held
    with pytest.raises(AnswerTimeout):
        send_until_only_the_held_one_is_late(scheme, weights(7.0))
    gate.open()
    forward.wait()
    with pytest.raises(WorkerError, match=r"worker 1.*WeightsMismatch"):
        scheme.send({"first": torch.ones(3)}, worker_ids=1)
    assert dropped(scheme) == [(1, DropReason.LATE)]
    assert workers.forward() == [[7.0] * 3] * 2


@held_both
def test_a_timeout_names_only_the_late_workers(held):
    _, scheme, _ = held
    with pytest.raises(AnswerTimeout) as caught:
        send_until_only_the_held_one_is_late(scheme, weights(7.0))
    assert caught.value.workers == (1,)


@both
@pytest.mark.parametrize(
    "wrong",
    [
        {**weights(-1.0), "first": torch.ones(4)},
        {"first": torch.ones(3)},
        {**weights(-1.0), "more": torch.ones(1)},
        weights(-1.0),
    ],
    ids=["shape", "missing name", "unexpected name", "raises half-way"],
)
def test_weights_that_cannot_be_applied_leave_every_worker_as_it_was(start_method, wrong):
    workers, scheme = make_workers(RaisesHalfWay, start_method=start_method, value=4.0)
    with workers:
        with pytest.raises(WorkerError, match=r"(?s)worker 0 failed in send.*worker 1"):
            scheme.send(wrong)
        assert workers.forward() == [[4.0] * 3] * 2
        assert scheme.send(weights(6.0)) == 2
        assert workers.forward() == [[6.0] * 3] * 2


@both
def test_a_failed_apply_brings_its_cause_and_traceback(start_method):
    workers, scheme = make_workers(RaisesHalfWay, start_method=start_method)
    with workers, pytest.raises(WorkerError) as caught:
        scheme.send(weights(-1.0), worker_ids=1)
    assert (caught.value.worker, caught.value.cause) == (1, "ValueError: half-way")
    assert "in load_state_dict" in caught.value.traceback


@held_fork
def test_a_worker_that_is_killed_before_its_ack_is_named_and_the_other_holds_the_version(held):
    workers, scheme, forward = held
    send = Call(scheme.send, weights(7.0), timeout=None)
    os.kill(workers.worker_pids[1], signal.SIGKILL)
    send.wait()
    assert isinstance(send.error, WorkerDied)
    assert (send.error.worker, send.error.exitcode) == (1, -signal.SIGKILL)
    forward.wait()
    assert workers.forward(worker_ids=0) == [[7.0] * 3]


def test_a_stopped_worker_costs_the_deadline_and_not_more():
    workers, scheme = make_workers(TwoReads, start_method="fork", shutdown_timeout=0.4)
    with workers:
        stop(workers.worker_pids[0])
        large = {**weights(1.0), "first": torch.ones(4_000_000)}
        scheme.send_async(large)
        assert channel.wait(scheme.channels()["acks"][1:], (), Deadline.after(WAIT_S))
        with pytest.raises(WorkerError, match=r"(?s)worker 0.*no answer in time.*worker 1"):
            scheme.wait_async(timeout=0.1)
        with pytest.raises(AnswerTimeout, match="worker 0"):
            scheme.send(weights(1.0), timeout=0.1)
        assert workers.forward(worker_ids=1) == [[1.0] * 3]


def test_what_is_kept_for_a_worker_that_does_not_answer_is_bounded():
    workers, scheme = make_workers(TwoReads, start_method="fork", shutdown_timeout=0.4)
    with workers:
        stop(workers.worker_pids[0])
        for _ in range(UNANSWERED_MAX):
            with pytest.raises(AnswerTimeout):
                scheme.send(worker_ids=0, timeout=0.0)
        with pytest.raises(WorkerError, match="has not answered 4 earlier requests"):
            scheme.send(worker_ids=0)
        assert scheme.sender.slot_count == UNANSWERED_MAX + 2  # the one in force, and one to write


def test_a_worker_that_goes_on_takes_what_it_missed_and_then_the_newest():
    workers, scheme = make_workers(TwoReads, start_method="fork")
    with workers:
        stop(workers.worker_pids[0])
        for value in (1.0, 2.0):
            with pytest.raises(AnswerTimeout):
                scheme.send(weights(value), timeout=0.0)
        os.kill(workers.worker_pids[0], signal.SIGCONT)
        scheme.send(weights(3.0))
        assert workers.forward() == [[3.0] * 3] * 2
        assert len(scheme.sender._payloads) == 1


def test_a_worker_that_has_caught_up_is_sent_to_again():
    workers, scheme = make_workers(TwoReads, start_method="fork")
    with workers:
        stop(workers.worker_pids[0])
        for _ in range(UNANSWERED_MAX):
            with pytest.raises(AnswerTimeout):
                scheme.send(worker_ids=0, timeout=0.0)
        os.kill(workers.worker_pids[0], signal.SIGCONT)
        assert channel.wait(scheme.channels()["acks"][:1], (), Deadline.after(WAIT_S))
        scheme.send(weights(3.0))
        assert workers.forward() == [[3.0] * 3] * 2


def test_sends_of_several_threads_get_versions_of_their_own(pair):
    _, scheme = pair
    sends = [Call(scheme.send) for _ in range(4)]
    assert sorted(send.wait() for send in sends) == [1, 2, 3, 4]


@held_both
def test_a_send_that_waits_for_its_turn_ends_at_its_deadline(held, gate):
    _, scheme, forward = held
    first = Call(scheme.send, weights(7.0), timeout=None)
    assert wait_until_version(scheme, 1)
    with pytest.raises(AnswerTimeout, match="earlier calls"):
        scheme.send(weights(8.0), timeout=0.1)
    gate.open()
    forward.wait()
    assert first.wait() == 1


@pytest.mark.parametrize("worker_ids", [[], [0, 0], 2, -1, [0, 5]])
def test_workers_that_do_not_exist_are_refused_before_anything_is_sent(pair, worker_ids):
    workers, scheme = pair
    with pytest.raises(ValueError, match="worker_ids"):
        scheme.send(weights(5.0), worker_ids=worker_ids)
    assert scheme.version == 0
    assert workers.forward() == [[0.0] * 3] * 2


@pytest.mark.parametrize("source", [3, [1], {"first": 1.0}], ids=["int", "list", "floats"])
def test_what_is_no_weights_is_refused_before_anything_is_sent(pair, source):
    _, scheme = pair
    with pytest.raises(TypeError, match="weights"):
        scheme.send(source)
    assert scheme.version == 0


def test_a_negative_timeout_is_refused_before_anything_is_sent(pair):
    _, scheme = pair
    with pytest.raises(ValueError, match="non-negative"):
        scheme.send(timeout=-1.0)
    assert scheme.version == 0


def test_sending_needs_the_sender_to_be_set_up_and_connected():
    scheme = MultiProcessWeightSyncScheme()
    with pytest.raises(RuntimeError, match="init_on_sender"):
        scheme.send()
    scheme.init_on_sender(model=TwoReads(), num_workers=1)
    with pytest.raises(RuntimeError, match="connect"):
        scheme.send()
    scheme.shutdown()


def test_a_scheme_is_set_up_for_somebody():
    scheme = MultiProcessWeightSyncScheme()
    with pytest.raises(ValueError, match="num_workers"):
        scheme.init_on_sender(model=TwoReads(), num_workers=0)
    assert not scheme.initialized_on_sender


def test_a_side_is_for_one_worker():
    scheme = MultiProcessWeightSyncScheme()
    scheme.init_on_sender(model=TwoReads(), num_workers=1)
    side = scheme.for_worker(0, kind="thread")
    with pytest.raises(ValueError, match="worker_idx"):
        scheme.for_worker(0)
    with pytest.raises(ValueError, match="worker_idx is 1"):
        side.init_on_receiver(model=TwoReads(), worker_idx=1)
    with pytest.raises(RuntimeError, match="for_worker"):
        scheme.init_on_receiver(model=TwoReads(), worker_idx=0)
    side.shutdown()
    scheme.shutdown()


def test_a_receiver_of_ones_own_is_brought_the_first_version_by_connect():
    scheme, model = MultiProcessWeightSyncScheme(), TwoReads(0.0)
    scheme.init_on_sender(model=TwoReads(5.0), num_workers=1)
    side = scheme.for_worker(0, kind="thread")
    side.init_on_receiver(model=model, worker_idx=0)
    connect = Call(side.connect, worker_idx=0)
    scheme.connect()
    connect.wait()
    assert connect.error is None
    assert (side.version, model(None)) == (0, [5.0] * 3)
    scheme.shutdown()
    side.shutdown()


def test_sending_after_the_end_says_that_it_is_closed():
    workers, scheme = make_workers(TwoReads, start_method="fork")
    workers.close()
    with pytest.raises(Closed):
        scheme.send()


@held_both
def test_closing_ends_a_send_that_another_thread_waits_for(held, gate):
    workers, scheme, _ = held
    send = Call(scheme.send, weights(7.0), timeout=None)
    close = Call(workers.close)
    send.wait()
    gate.open()
    close.wait()
    assert isinstance(send.error, Closed)

"""Workers set up their sides and wait for their first weights no longer than they must; who does not come is missed."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import weakref

import pytest
import torch
from torch import nn

from reference_impl.core.clock import Deadline
from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.core.ownership import start_process
from reference_impl.weights import (
    AnswerTimeout,
    MultiProcessWeightSyncScheme,
    SharedMemWeightSyncScheme,
)
from reference_impl.weights.packing import pack
from tests.unit.reference_impl.weights.policies import WAIT_S, Call, TwoReads, weights
from tests.unit.reference_impl.weights.setups import Receivers, Trainer

SCHEMES = (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme)
each_scheme = pytest.mark.parametrize("kind", SCHEMES, ids=["copy", "shared"])


def test_a_worker_has_a_model_a_number_and_a_side(scheme):
    with pytest.raises(RuntimeError, match="init_on_sender"):
        scheme.init_on_receiver(model=TwoReads(), worker_idx=0)
    scheme.init_on_sender(model=TwoReads(), num_workers=2)
    side = scheme.for_worker(1, kind="thread")
    with pytest.raises(ValueError, match="worker_idx must"):
        side.init_on_receiver(model=TwoReads())
    with pytest.raises(ValueError, match="model_id must"):
        side.init_on_receiver(context=Trainer())
    with pytest.raises(ValueError, match="worker_idx is 0"):
        side.init_on_receiver(model=TwoReads(), worker_idx=0)
    with pytest.raises(TypeError, match="Module"):
        side.init_on_receiver(worker_idx=1)
    for call in (side.listen, side.receive, side.connect):
        with pytest.raises(RuntimeError):
            call()
    side.shutdown()


def test_a_worker_reads_number_and_model_from_its_context(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side, worker = scheme.for_worker(0, kind="thread"), Trainer()
    side.init_on_receiver(model_id="postproc.adv_module", context=worker)
    side.listen()
    scheme.connect()
    assert worker.postproc.adv_module(None) == [1.0] * 3
    side.shutdown()


@pytest.mark.parametrize(("model_id", "counted"), [("policy", 2), ("postproc.adv_module", 0)])
def test_only_versions_of_the_policy_are_counted(scheme, model_id, counted):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side, worker = scheme.for_worker(0, kind="thread"), Trainer()
    side.init_on_receiver(model_id=model_id, context=worker)
    side.listen()
    scheme.connect()
    scheme.send()
    assert worker.counted == counted
    side.shutdown()


def test_a_worker_that_counts_no_versions_takes_weights_all_the_same(scheme, caplog):
    class Broken(Trainer):
        def increment_version(self) -> None:
            raise OSError("no counting")

    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side, worker = scheme.for_worker(0, kind="thread"), Broken()
    side.init_on_receiver(model_id="policy", context=worker)
    side.listen()
    scheme.connect()
    assert worker.policy(None) == [1.0] * 3
    assert "no counting" in caplog.text
    side.shutdown()


def test_a_receiver_that_is_late_costs_the_time_and_not_more(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=2)
    with pytest.raises(AnswerTimeout, match="worker 0, worker 1"):
        scheme.connect(timeout=0.1)


def test_a_worker_that_no_weights_come_to_waits_no_longer_than_it_was_told(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side = scheme.for_worker(0, kind="thread")
    side.init_on_receiver(model=TwoReads(), worker_idx=0)
    with pytest.raises(TimeoutError, match="no weights"):
        side.connect(timeout=0.05)
    side.shutdown()


def test_a_worker_whose_sender_hangs_up_is_told(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side = scheme.for_worker(0, kind="thread")
    side.init_on_receiver(model=TwoReads(), worker_idx=0)
    connect = Call(side.connect)
    scheme.shutdown()
    connect.wait()
    assert "hung up" in str(connect.error)
    side.shutdown()


def test_a_worker_whose_model_does_not_fit_is_told(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side = scheme.for_worker(0, kind="thread")
    side.init_on_receiver(model=nn.Linear(1, 1), worker_idx=0)
    connect = Call(side.connect)
    with pytest.raises(RuntimeError, match="WeightsMismatch"):
        scheme.connect()
    connect.wait()
    assert "WeightsMismatch" in str(connect.error)
    side.shutdown()


def test_a_fork_of_a_worker_that_ends_leaves_its_channel_open(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side = scheme.for_worker(0)
    side.init_on_receiver(model=TwoReads(), worker_idx=0)
    side.listen()
    scheme.connect()
    ended = [each for each in weakref.finalize._registry if each.peek()[0] is side]  # type: ignore[attr-defined]  # for want of a public way
    assert ended
    forked = start_process(_calls, (ended,), name="fork", start_method="fork")
    assert forked.join(Deadline.after(WAIT_S))
    forked.release()
    scheme.send(weights(2.0))
    side.shutdown()


def _calls(functions) -> None:
    for function in functions:
        function()


def dies(_scheme) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_dead_before_it_is_ready_ends_the_wait(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    process = start_process(dies, (scheme,), name="worker", start_method="fork")
    scheme.watch(0, process)
    with pytest.raises(WorkerDied, match="worker 0"):
        scheme.connect(timeout=WAIT_S)
    assert process.join(Deadline.after(WAIT_S))
    process.release()


def receives(scheme, model, answers) -> None:
    scheme.init_on_receiver(model=model, worker_idx=0)
    scheme.connect(worker_idx=0)
    os.write(answers, b"%d" % model(None)[0])
    scheme.receive(timeout=WAIT_S)
    os.write(answers, b"%d" % model(None)[0])


@each_scheme
def test_a_scheme_is_an_argument_of_a_forked_worker(kind):
    scheme = kind()
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    answers, there = os.pipe()
    process = start_process(
        receives, (scheme, TwoReads(), there), name="worker", start_method="fork"
    )
    scheme.connect()
    assert os.read(answers, 1) == b"1"
    scheme.send(weights(2.0))
    assert os.read(answers, 1) == b"2"
    assert process.join(Deadline.after(WAIT_S))
    process.release()
    scheme.shutdown()
    os.close(answers)
    os.close(there)


def test_what_could_not_be_applied_was_not_received(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    side = receivers.sides[0]
    assert side.receive(timeout=WAIT_S) is not None
    with pytest.raises(WorkerError, match="WeightsMismatch"):
        scheme.send({"first": torch.ones(3)})
    assert side.receive(timeout=0.0) is None
    receivers.stop()


def test_weights_that_came_before_the_worker_asked_are_received_once(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side = scheme.for_worker(0, kind="thread")
    side.init_on_receiver(model=TwoReads(), worker_idx=0)
    connect = Call(side.connect)
    scheme.connect()
    connect.wait()
    assert side.receive(timeout=0.0) is None  # it has connected with them
    scheme.send(weights(2.0))
    scheme.send(weights(3.0))
    with side._receiver._answered:  # the ack is sent under it
        assert side._receiver.answered == 3
    received = side.receive(timeout=0.0)
    assert received["first"].tolist() == [3.0] * 3
    assert side.receive(timeout=0.0) is None
    side.shutdown()


def test_what_came_before_the_sender_hung_up_is_received(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    scheme.shutdown()
    with receivers.sides[0]._receiver._answered:  # the ack is sent under it
        assert receivers.sides[0]._receiver.answered == 1
    assert receivers.sides[0].receive() is not None
    assert receivers.sides[0].receive() is None
    receivers.stop()


class Overtaken:
    """A lock that another thread gets first, once, and does something with."""

    def __init__(self, lock, first) -> None:
        self.lock, self.first = lock, [first]

    def __enter__(self) -> None:
        self.lock.acquire()
        while self.first:
            self.first.pop()()

    def __exit__(self, *_) -> None:
        self.lock.release()


def test_weights_that_nobody_sent_have_the_version_that_was_held_when_they_were_applied(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    side, target = receivers.sides[0], receivers.sides[0].target
    target._lock = Overtaken(target._lock, lambda: target.apply(7, *pack(weights(7.0))))
    side.apply_weights(weights(5.0))
    assert (side.version, receivers.values()) == (7, [5.0])
    receivers.stop()


def by_init(side, model) -> None:
    side.init_on_receiver(model=model, worker_idx=0)


def by_model(side, model) -> None:
    side.model = model


@pytest.mark.parametrize("give", [by_init, by_model])
def test_a_worker_is_not_given_the_trainers_model_later_either(scheme, give):
    trainers = TwoReads(1.0)
    scheme.init_on_sender(model=trainers, num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    with pytest.raises(ValueError, match="shares tensors"):
        give(receivers.sides[0], trainers)
    scheme.send(weights(2.0))
    assert (trainers(None), receivers.values()) == ([1.0] * 3, [2.0])
    receivers.stop()


def test_a_scheme_travels_only_while_workers_may_start(scheme):
    with pytest.raises(TypeError, match="init_on_sender"):
        pickle.dumps(scheme)


def test_the_sender_itself_is_no_receiver(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    with pytest.raises(RuntimeError, match="this is the sender"):
        scheme.init_on_receiver(model=TwoReads(), worker_idx=0)
    assert scheme.initialized_on_sender


def test_a_side_is_no_sender(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    side = scheme.for_worker(0, kind="thread")
    with pytest.raises(RuntimeError, match="worker's"):
        side.init_on_sender(model=TwoReads(), num_workers=1)
    side.shutdown()


def test_a_scheme_in_a_cycle_is_collected_with_its_threads():
    scheme, model = MultiProcessWeightSyncScheme(), TwoReads(1.0)
    vars(model)["scheme"] = scheme
    scheme.init_on_sender(model=model, num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    thread = receivers.sides[0]._receiver._thread
    gone = weakref.ref(scheme)
    del scheme, model, receivers
    gc.collect()
    assert gone() is None
    assert thread.join(Deadline.after(WAIT_S))

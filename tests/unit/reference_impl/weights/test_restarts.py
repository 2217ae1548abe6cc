"""A worker that takes another's place is brought what that place holds."""

from __future__ import annotations

import multiprocessing
import os
import signal
from typing import Any

import pytest

from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from reference_impl.weights import (
    AnswerTimeout,
    MultiProcessWeightSyncScheme,
    PolicyWorkers,
    SharedMemWeightSyncScheme,
    WeightSyncScheme,
)
from reference_impl.weights import workers as workers_module
from tests.stopping import stop
from tests.unit.reference_impl.weights.policies import (
    HOLD,
    Call,
    Gated,
    TwoReads,
    make_workers,
    weights,
)

SCHEMES = (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme)
each_scheme = pytest.mark.parametrize("kind", SCHEMES, ids=["copy", "shared"])
both = pytest.mark.parametrize("start_method", ["fork", "thread"])


@each_scheme
@both
def test_a_restarted_worker_acts_on_the_current_version(start_method, kind):
    workers, scheme = make_workers(TwoReads, start_method=start_method, kind=kind)
    with workers:
        scheme.send(weights(1.0))
        scheme.send(weights(2.0))
        workers.restart(0)
        assert workers.forward() == [[2.0] * 3] * 2


@each_scheme
def test_a_worker_is_restarted_with_the_version_that_was_sent_while_it_died(kind):
    workers, scheme = make_workers(TwoReads, start_method="fork", kind=kind)
    with workers:
        os.kill(workers.worker_pids[0], signal.SIGKILL)
        with pytest.raises(WorkerDied, match="worker 0"):
            scheme.send(weights(3.0))
        workers.restart(0)
        assert workers.forward() == [[3.0] * 3] * 2


def test_a_worker_is_restarted_with_what_its_place_holds_and_not_with_what_others_were_sent():
    workers, scheme = make_workers(TwoReads, start_method="fork")
    with workers:
        scheme.send(weights(4.0), worker_ids=1)
        workers.restart(0)
        assert workers.forward() == [[0.0] * 3, [4.0] * 3]


def test_a_worker_is_not_restarted_with_weights_that_no_worker_could_take():
    workers, scheme = make_workers(TwoReads, start_method="fork")
    with workers:
        scheme.send(weights(4.0))
        with pytest.raises(WorkerError, match="WeightsMismatch"):
            scheme.send({"first": weights(5.0)["first"]})
        workers.restart(1)
        assert workers.forward() == [[4.0] * 3] * 2


def test_a_restarted_worker_takes_the_next_version():
    workers, scheme = make_workers(TwoReads, start_method="fork", kind=SharedMemWeightSyncScheme)
    with workers:
        workers.restart(0)
        scheme.send(weights(5.0))
        assert workers.forward() == [[5.0] * 3] * 2


def test_a_stopped_worker_is_replaced_at_once():
    workers, _ = make_workers(TwoReads, start_method="fork")
    with workers:
        before = workers.worker_pids
        stop(before[0])
        workers.restart(0)
        assert workers.forward() == [[0.0] * 3] * 2
        assert (workers.worker_pids[0] != before[0], workers.worker_pids[1] == before[1]) == (
            True,
            True,
        )


def test_a_forward_that_a_restart_ends_is_told():
    workers, _ = make_workers(TwoReads, start_method="fork")
    with workers:
        stop(workers.worker_pids[0])
        forward = Call(workers.forward, worker_ids=0, timeout=0.2)
        forward.wait()
        workers.restart(0)
        assert isinstance(forward.error, TimeoutError)


@pytest.mark.parametrize("worker", [2, -1])
def test_a_worker_that_does_not_exist_is_not_restarted(worker):
    workers, _ = make_workers(TwoReads, start_method="thread")
    with workers:
        with pytest.raises(ValueError, match="worker_ids"):
            workers.restart(worker)
        assert workers.forward() == [[0.0] * 3] * 2


def test_a_worker_that_cannot_be_started_again_is_named_and_the_others_act():
    made: list[Any] = []

    def factory() -> Any:
        if made:
            raise OSError("not again")
        return TwoReads()

    workers, _ = make_workers(factory, start_method="fork")
    with workers:
        made.append(True)
        with pytest.raises(WorkerError, match="worker 0 failed in start: OSError: not again"):
            workers.restart(0)
        assert workers.forward(worker_ids=1) == [[0.0] * 3]


def test_a_worker_that_cannot_be_started_again_leaves_no_request_open(monkeypatch):
    def refused(*_, **__):
        raise OSError("no more processes")

    workers, scheme = make_workers(TwoReads, start_method="fork")
    with workers:
        with monkeypatch.context() as patched:
            patched.setattr(workers_module, "start_process", refused)
            with pytest.raises(WorkerError, match="worker 0 failed in start: OSError: no more"):
                workers.restart(0)
        ledger = workers._crew.talk.ledger
        assert all(ledger.settled(request) for request in range(1, 10))
        scheme.send(weights(1.0), worker_ids=1)
        workers.restart(0)
        assert workers.forward() == [[0.0] * 3, [1.0] * 3]


def test_a_worker_that_is_not_started_again_in_time_is_ended(gate):
    made: list[Any] = []

    def factory() -> Any:
        if made:
            gate.pass_through()
        return TwoReads()

    workers, _ = make_workers(factory, start_method="fork")
    with workers:
        made.append(True)
        with pytest.raises(AnswerTimeout, match="worker 0 in start"):
            workers.restart(0, timeout=0.3)
        assert [each.pid for each in multiprocessing.active_children()] == workers.worker_pids
        assert len(workers.worker_pids) == 1
        made.clear()
        workers.restart(0)
        assert workers.forward() == [[0.0] * 3] * 2


class RefusesAll(TwoReads):
    """Takes no weights."""

    def load_state_dict(self, *_, **__):
        raise ValueError("never")


def test_a_worker_that_does_not_take_its_weights_when_it_is_started_again_is_ended():
    made: list[Any] = []
    workers, _ = make_workers(lambda: RefusesAll() if made else TwoReads(), start_method="fork")
    with workers:
        made.append(True)
        with pytest.raises(WorkerError, match="worker 0 failed in connect: ValueError: never"):
            workers.restart(0)
        assert [each.pid for each in multiprocessing.active_children()] == workers.worker_pids
        with pytest.raises(WorkerDied, match="worker 0"):
            workers.forward()


@each_scheme
def test_a_worker_does_not_act_before_it_has_its_weights_again(monkeypatch, kind):
    workers, scheme = make_workers(TwoReads, start_method="fork", kind=kind, value=4.0)
    connect, seen = scheme.connect, []

    def watched(**given):
        call = Call(workers.forward, worker_ids=0, timeout=0.2)
        call.wait()
        seen.append((call.result, type(call.error)))
        connect(**given)

    with workers:
        monkeypatch.setattr(scheme, "connect", watched)
        workers.restart(0)
        assert seen == [(None, AnswerTimeout)]
        assert workers.forward() == [[4.0] * 3] * 2


@both
def test_a_worker_that_is_started_again_while_others_close_is_ended(monkeypatch, start_method):
    workers, _ = make_workers(TwoReads, start_method=start_method)
    start = workers_module._start_one

    def closed_meanwhile(*given):
        Call(workers.close).wait()
        return start(*given)

    monkeypatch.setattr(workers_module, "_start_one", closed_meanwhile)
    with pytest.raises(Closed):
        workers.restart(0)
    assert not multiprocessing.active_children()
    assert not [each for each in workers._crew.everybody() if each.alive]


def test_a_thread_that_does_not_listen_is_left_behind_and_joined_by_close(gate):
    workers, scheme = make_workers(lambda: Gated(gate), start_method="thread", num_workers=1)
    with workers:
        forward = Call(workers.forward, HOLD, timeout=0.1)
        gate.wait_entered()
        forward.wait()
        workers.restart(0)
        scheme.send(weights(6.0))
        assert workers.forward() == [[6.0] * 3]
        gate.open()


class Part:
    """What a policy refers to, and is no part of its weights."""

    def __init__(self) -> None:
        self.net = TwoReads()


class WithValue(TwoReads):
    """Also says what another model, which it refers to, holds."""

    def __init__(self) -> None:
        super().__init__()
        vars(self)["postproc"] = Part()

    def forward(self, observation) -> Any:
        return [super().forward(observation)[0], vars(self)["postproc"].net(None)[0]]


def with_value(kind, start_method="fork") -> Any:
    policy, value = kind(), kind()
    policy.init_on_sender(model=TwoReads(1.0), num_workers=2)
    value.init_on_sender(model_id=None, model=TwoReads(10.0), num_workers=2)
    workers = PolicyWorkers(
        WithValue, 2, scheme=policy, others={"postproc.net": value}, start_method=start_method
    )
    return workers, policy, value


@each_scheme
@both
def test_each_model_is_sent_by_a_scheme_of_its_own(start_method, kind):
    workers, policy, value = with_value(kind, start_method)
    with workers:
        assert workers.forward() == [[1.0, 10.0]] * 2
        value.send(weights(20.0))
        assert workers.forward() == [[1.0, 20.0]] * 2
        assert workers.versions == [0, 0]
        policy.send(weights(2.0))
        assert workers.forward() == [[2.0, 20.0]] * 2
        assert workers.versions == [1, 1]


def test_a_restarted_worker_has_the_current_version_of_every_model():
    workers, policy, value = with_value(SharedMemWeightSyncScheme)
    with workers:
        policy.send(weights(2.0))
        value.send(weights(20.0))
        workers.restart(1)
        assert workers.forward() == [[2.0, 20.0]] * 2


def test_a_model_that_a_policy_does_not_have_fails_the_start():
    policy: WeightSyncScheme = MultiProcessWeightSyncScheme()
    value: WeightSyncScheme = MultiProcessWeightSyncScheme()
    for scheme in (policy, value):
        scheme.init_on_sender(model=TwoReads(), num_workers=1)
    with pytest.raises(WorkerError, match=r"start: AttributeError.*nothing_here"):
        PolicyWorkers(
            TwoReads, 1, scheme=policy, others={"nothing_here.net": value}, start_method="fork"
        )

"""Weights in shared memory: what a worker writes stays with it; there is one slot more than versions in force."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from reference_impl.core import channel
from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.weights import (
    AnswerTimeout,
    MultiProcessWeightSyncScheme,
    PolicyWorkers,
    SharedMemWeightSyncScheme,
)
from tests.stopping import stop
from tests.unit.reference_impl.weights.policies import (
    HOLD,
    Call,
    Gated,
    RaisesHalfWay,
    TwoReads,
    make_workers,
    weights,
)
from tests.unit.reference_impl.weights.setups import Receivers

both = pytest.mark.parametrize("start_method", ["fork", "thread"])
each_scheme = pytest.mark.parametrize(
    "kind", [MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme], ids=["copy", "shared"]
)


def make_shared(factory, **options) -> Any:
    return make_workers(factory, kind=SharedMemWeightSyncScheme, **options)


class Writes(TwoReads):
    """Counts its forwards up in its own weights, by a way around their version counters."""

    def forward(self, observation) -> Any:
        self.third.data.add_(1.0)
        self.first.data.add_(1.0)
        return super().forward(observation)


@both
def test_every_version_is_acted_on_whole(start_method):
    workers, scheme = make_shared(TwoReads, start_method=start_method)
    with workers:
        for version in range(1, 8):
            scheme.send(weights(float(version)))
            assert workers.forward() == [[float(version)] * 3] * 2


@both
def test_what_a_worker_writes_into_its_weights_stays_with_it_and_is_gone_with_the_next(
    start_method,
):
    workers, scheme = make_shared(Writes, start_method=start_method)
    with workers:
        for version in (10.0, 20.0, 30.0, 40.0):  # each slot comes more than once
            scheme.send(weights(version))
            workers.forward(worker_ids=0)
            written, other = workers.forward()
            assert written == [version + 2, version, version + 2]
            assert other == [version + 1, version, version + 1]


@pytest.mark.parametrize("start_method", ["fork"])
def test_the_trainers_tensors_are_neither_shared_nor_written_to(start_method):
    trainer = TwoReads(1.0)
    before = [(t, t.data_ptr(), t._version) for t in trainer.state_dict(keep_vars=True).values()]
    workers, scheme = make_shared(Writes, start_method=start_method)
    with workers:
        scheme.send(trainer)
        workers.forward()
        with torch.no_grad():
            trainer.second.fill_(9.0)
        assert workers.forward()[0][1] == 1.0
    after = [(t, t.data_ptr()) for t in trainer.state_dict(keep_vars=True).values()]
    assert all(a is b and x == y for (a, x, _), (b, y) in zip(before, after, strict=True))
    assert not any(t.is_shared() for t, _ in after)


@each_scheme
def test_slots_are_as_many_as_versions_in_force_and_one(kind):
    workers, scheme = make_workers(TwoReads, start_method="fork", kind=kind, num_workers=3)
    with workers:
        for _ in range(20):
            scheme.send()
        assert scheme.sender.slot_count == 2
        for worker in (0, 1, 2, 0, 1, 2):
            scheme.send(worker_ids=worker)
        assert scheme.sender.slot_count == 4


def test_a_stopped_worker_pins_what_it_may_read_and_never_the_next_send():
    workers, scheme = make_shared(TwoReads, start_method="fork", shutdown_timeout=0.4)
    with workers:
        stop(workers.worker_pids[0])
        with pytest.raises(AnswerTimeout):
            scheme.send(worker_ids=0, timeout=0.0)
        for value in range(10):
            scheme.send(weights(float(value)), worker_ids=1)
        assert scheme.sender.slot_count <= 4
        assert workers.forward(worker_ids=1) == [[9.0] * 3]


@both
def test_a_forward_that_is_held_half_way_acts_on_one_version_and_the_next_on_the_newest(
    start_method, gate
):
    workers, scheme = make_shared(lambda: Gated(gate), start_method=start_method, num_workers=1)
    with workers:
        forward = Call(workers.forward, HOLD)
        gate.wait_entered()
        send = Call(scheme.send, weights(7.0))
        with pytest.raises(TimeoutError):
            scheme.send(weights(8.0), timeout=0.05)
        gate.open()
        assert forward.wait() == [[0.0] * 3]
        send.wait()
        assert workers.forward()[0][0] >= 7.0


@both
def test_a_failed_apply_leaves_shared_weights_whole(start_method):
    workers, scheme = make_shared(RaisesHalfWay, start_method=start_method, value=4.0)
    with workers:
        for wrong in (weights(-1.0), {"first": torch.ones(3)}):
            with pytest.raises(WorkerError, match=r"(?s)worker 0 failed in send.*worker 1"):
                scheme.send(wrong)
            assert workers.forward() == [[4.0] * 3] * 2
        scheme.send(weights(6.0))
        assert workers.forward() == [[6.0] * 3] * 2


class Tied(nn.Module):
    """Two names for one parameter, a batch norm that counts, and a part that is used twice."""

    def __init__(self, value=0.0) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(2)
        self.parts = nn.ModuleList([self.first, self.first])
        self.register_buffer("odd", torch.arange(6.0).reshape(2, 3).t())
        self.empty = nn.Parameter(torch.zeros(0, 3))
        self.small = nn.Parameter(torch.zeros(3, dtype=torch.float16))
        with torch.no_grad():
            for tensor in (*self.parameters(), *self.buffers()):
                tensor.fill_(value)

    def forward(self, _observation) -> Any:
        tied = self.first.weight is self.second.weight
        return [
            tied,
            *sorted({float(t.float().mean()) for t in self.state_dict().values() if t.numel()}),
        ]


@each_scheme
@both
def test_tied_and_odd_tensors_of_every_kind_arrive(start_method, kind):
    scheme = kind()
    scheme.init_on_sender(model=Tied(0.0), num_workers=1)
    with PolicyWorkers(Tied, 1, scheme=scheme, start_method=start_method) as workers:
        scheme.send(Tied(3.0))
        assert workers.forward() == [[True, 3.0]]


class Counting(TwoReads):
    """Has state beside its tensors."""

    def __init__(self, count=0) -> None:
        super().__init__()
        self.count = {"seen": count}

    def get_extra_state(self) -> Any:
        return self.count

    def set_extra_state(self, state) -> None:
        if state["seen"] < 0:
            raise ValueError("negative")
        self.count = state

    def forward(self, _observation) -> Any:
        return self.count["seen"]


@each_scheme
@both
def test_extra_state_arrives_as_it_was_when_it_was_sent(start_method, kind):
    trainer, scheme = Counting(1), kind()
    scheme.init_on_sender(model=trainer, num_workers=1)
    with PolicyWorkers(Counting, 1, scheme=scheme, start_method=start_method) as workers:
        trainer.count["seen"] = 5
        assert workers.forward() == [1]
        scheme.send()
        assert workers.forward() == [5]
        trainer.count["seen"] = -1
        with pytest.raises(WorkerError, match="negative"):
            scheme.send()
        assert workers.forward() == [5]


@each_scheme
def test_a_state_dict_leaves_out_buffers_that_are_not_saved(kind):
    class Transient(TwoReads):
        mask: torch.Tensor

        def __init__(self, value=0.0) -> None:
            super().__init__(value)
            self.register_buffer("mask", torch.full((2,), value), persistent=False)

        def forward(self, observation) -> Any:
            return [super().forward(observation)[0], self.mask[0].item()]

    for strategy, mask in (("tensordict", 3.0), ("state_dict", 0.0)):
        scheme = kind(strategy)
        scheme.init_on_sender(model=Transient(3.0), num_workers=1)
        with PolicyWorkers(Transient, 1, scheme=scheme, start_method="thread") as workers:
            assert workers.forward() == [[3.0, mask]]


@each_scheme
def test_a_worker_that_nobody_watches_and_nothing_reaches_may_still_act_on_what_it_has(kind):
    scheme = kind()
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=2)
    receivers = Receivers(scheme, num_workers=2)
    scheme.connect()
    channel.close(scheme.channels()["acks"][0])
    for version in range(2, 6):
        with pytest.raises(WorkerDied, match="worker 0"):
            scheme.send(weights(float(version)))
        assert receivers.values() == [1.0, float(version)]
    receivers.stop()
    scheme.shutdown()


@each_scheme
@both
def test_a_worker_that_is_cut_off_acts_on_what_it_has_whatever_others_are_sent(start_method, kind):
    workers, scheme = make_workers(TwoReads, start_method=start_method, kind=kind)
    with workers:
        scheme.send(weights(1.0))
        channel.close(scheme.channels()["acks"][0])
        for version in range(2, 6):
            with pytest.raises(WorkerError, match="worker 0"):
                scheme.send(weights(float(version)))
            assert workers.forward() == [[1.0] * 3, [float(version)] * 3]
        assert scheme.sender.slot_count <= 5

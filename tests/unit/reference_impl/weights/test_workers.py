"""Workers act on whole versions that were sent; their ends are seen, and they end with their owner."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torch import nn

from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.weights import AnswerTimeout, MultiProcessWeightSyncScheme, PolicyWorkers
from reference_impl.weights.ledger import DropReason
from tests.unit.reference_impl.weights.policies import (
    HOLD,
    Call,
    Gated,
    TwoReads,
    make_workers,
)

both = pytest.mark.parametrize("start_method", ["fork", "thread"])


class Echo(TwoReads):
    """Returns what it observes."""

    def forward(self, observation) -> Any:
        return observation


class ReturnsItsWeight(TwoReads):
    """Returns its very parameter."""

    def forward(self, _observation) -> Any:
        return self.first.detach()


class WritesToObservation(TwoReads):
    """Writes into what it observes."""

    def forward(self, observation) -> Any:
        return observation.add_(1.0).item()


class Raises(TwoReads):
    """Raises if it observes a Tensor."""

    def forward(self, observation) -> Any:
        if isinstance(observation, torch.Tensor):
            raise KeyError("observed")
        return super().forward(observation)


class ReturnsLambda(TwoReads):
    """Returns what pickle refuses."""

    def forward(self, _observation) -> Any:
        return lambda: None


class Exits(TwoReads):
    """Leaves the interpreter in a forward."""

    def forward(self, _observation) -> Any:
        sys.exit(3)


@both
def test_every_worker_answers_in_the_order_of_the_targets(start_method):
    workers, scheme = make_workers(TwoReads, start_method=start_method)
    with workers:
        scheme.send(TwoReads(1.0), worker_ids=1)
        assert workers.forward(worker_ids=[1, 0]) == [[1.0] * 3, [0.0] * 3]


@both
def test_workers_act_on_the_trainers_weights_once_they_are_made(start_method):
    workers, _ = make_workers(lambda: TwoReads(9.0), start_method=start_method, value=4.0)
    with workers:
        assert workers.forward() == [[4.0] * 3] * 2


@pytest.mark.slow
def test_workers_that_are_spawned_receive_weights():
    workers, scheme = make_workers(TwoReads, start_method="spawn")
    with workers:
        scheme.send(TwoReads(3.0))
        assert workers.forward() == [[3.0] * 3] * 2


@both
@pytest.mark.parametrize("observation", [torch.ones(2), TensorDict({"x": torch.ones(2)}, [])])
def test_an_observation_reaches_the_policy(start_method, observation):
    workers, _ = make_workers(Echo, start_method=start_method)
    with workers:
        for echoed in workers.forward(observation):
            assert type(echoed) is type(observation)
            assert (echoed == observation).all()


@both
def test_a_result_does_not_change_with_the_weights_it_was_made_of(start_method):
    workers, scheme = make_workers(ReturnsItsWeight, start_method=start_method)
    with workers:
        before = workers.forward()
        scheme.send(TwoReads(8.0))
        assert [result.tolist() for result in before] == [[0.0] * 3] * 2


@both
def test_an_observation_is_not_written_to_by_a_policy(start_method):
    workers, _ = make_workers(WritesToObservation, start_method=start_method)
    observation = torch.zeros(1)
    with workers:
        assert workers.forward(observation) == [1.0, 1.0]
    assert observation.item() == 0.0


@both
def test_a_result_says_which_version_it_was_made_with(start_method):
    workers, scheme = make_workers(TwoReads, start_method=start_method)
    with workers:
        assert workers.versions == [None, None]
        scheme.send(worker_ids=1)
        workers.forward()
        assert workers.versions == [0, 1]


@both
def test_a_policy_that_raises_is_named_with_cause_and_traceback(start_method):
    workers, _ = make_workers(Raises, start_method=start_method)
    with workers, pytest.raises(WorkerError, match=r"worker 0.*forward.*KeyError") as caught:
        workers.forward(HOLD, worker_ids=0)
    assert "in forward" in caught.value.traceback


@both
def test_every_policy_that_raises_is_named(start_method):
    workers, _ = make_workers(Raises, start_method=start_method)
    with workers, pytest.raises(WorkerError, match=r"(?s)worker 0.*worker 1"):
        workers.forward(HOLD)


@both
def test_workers_are_usable_after_a_policy_has_raised(start_method):
    workers, _ = make_workers(Raises, start_method=start_method)
    with workers:
        with pytest.raises(WorkerError):
            workers.forward(HOLD)
        assert workers.forward() == [[0.0] * 3] * 2


@both
def test_a_result_that_cannot_be_pickled_is_the_forwards_failure(start_method):
    workers, _ = make_workers(ReturnsLambda, start_method=start_method)
    with workers, pytest.raises(WorkerError, match="worker 0 failed in forward"):
        workers.forward(worker_ids=0)


@both
def test_a_late_result_is_not_taken_for_the_next(start_method, gate):
    workers, scheme = make_workers(lambda: Gated(gate), start_method=start_method, num_workers=1)
    with workers:
        with pytest.raises(AnswerTimeout, match="worker 0"):
            workers.forward(HOLD, timeout=0.1)
        gate.open()
        scheme.send(TwoReads(6.0))
        assert workers.forward() == [[6.0] * 3]
        assert workers._crew.talk.ledger.dropped[0].reason is DropReason.LATE


def test_a_killed_worker_is_an_event_and_not_a_wait(gate):
    workers, _ = make_workers(lambda: Gated(gate), start_method="fork")
    with workers:
        call = Call(workers.forward, HOLD, timeout=None)
        gate.wait_entered()
        gate.wait_entered()
        os.kill(workers.worker_pids[0], signal.SIGKILL)
        gate.open()
        gate.open()
        call.wait()
        assert isinstance(call.error, WorkerDied)
        assert (call.error.worker, call.error.exitcode) == (0, -signal.SIGKILL)


def test_the_other_workers_are_usable_after_one_has_died():
    workers, scheme = make_workers(TwoReads, start_method="fork")
    with workers:
        os.kill(workers.worker_pids[0], signal.SIGKILL)
        with pytest.raises(WorkerDied, match="worker 0"):
            workers.forward()
        scheme.send(TwoReads(2.0), worker_ids=1)
        assert workers.forward(worker_ids=1) == [[2.0] * 3]


def test_a_policy_that_exits_is_a_death_with_its_exit_code():
    workers, _ = make_workers(Exits, start_method="fork")
    with workers, pytest.raises(WorkerDied, match="exit code 3"):
        workers.forward(worker_ids=0)


def test_a_policy_that_exits_in_a_thread_is_the_death_of_the_worker():
    workers, _ = make_workers(Exits, start_method="thread")
    with workers, pytest.raises(WorkerDied, match="worker 0"):
        workers.forward(worker_ids=0)


@both
@pytest.mark.parametrize("worker_ids", [[], [0, 0], 2, -1])
def test_workers_that_do_not_exist_are_refused_before_any_policy_runs(start_method, worker_ids):
    workers, _ = make_workers(TwoReads, start_method=start_method)
    with workers:
        with pytest.raises(ValueError, match="worker_ids"):
            workers.forward(worker_ids=worker_ids)
        assert workers._crew.talk.begin((0,)) == 2  # after the start, nothing was asked


def fails() -> Any:
    raise OSError("no weights file")


@both
def test_a_factory_that_raises_is_named_and_nothing_is_left(start_method):
    with pytest.raises(WorkerError, match="worker 0 failed in start: OSError: no weights file"):
        make_workers(fails, start_method=start_method)


def dies() -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_while_it_starts_is_named():
    with pytest.raises(WorkerError, match="worker 0 failed in start: the worker died"):
        make_workers(dies, start_method="fork")


def test_a_factory_that_hangs_costs_the_start_timeout(gate):
    with pytest.raises(AnswerTimeout, match=r"worker 0.*start"):
        make_workers(
            gate.pass_through, start_method="fork", start_timeout=0.2, shutdown_timeout=0.2
        )


def test_a_factory_that_cannot_be_pickled_is_named():
    with pytest.raises(WorkerError, match="worker 0 failed in start"):
        make_workers(lambda: TwoReads(0.0), start_method="spawn")


def test_a_thread_is_refused_the_trainers_own_model():
    scheme, trainer = MultiProcessWeightSyncScheme(), TwoReads()
    scheme.init_on_sender(model=trainer, num_workers=1)
    with pytest.raises(WorkerError, match="shares tensors"):
        PolicyWorkers(lambda: trainer, 1, scheme=scheme, start_method="thread")


def test_a_forked_worker_may_start_from_a_copy_of_the_trainers_model():
    scheme, trainer = MultiProcessWeightSyncScheme(), TwoReads(2.0)
    scheme.init_on_sender(model=trainer, num_workers=1)
    with PolicyWorkers(lambda: trainer, 1, scheme=scheme, start_method="fork") as workers:
        assert workers.forward() == [[2.0] * 3]


@both
def test_a_policy_of_another_shape_fails_the_construction(start_method):
    with pytest.raises(WorkerError, match=r"connect.*WeightsMismatch"):
        make_workers(lambda: nn.Linear(1, 1), start_method=start_method)


def test_arguments_are_refused_before_anything_starts():
    scheme = MultiProcessWeightSyncScheme()
    with pytest.raises(RuntimeError, match="init_on_sender"):
        PolicyWorkers(TwoReads, 2, scheme=scheme)
    scheme.init_on_sender(model=TwoReads(), num_workers=2)
    with pytest.raises(ValueError, match="num_workers is 3"):
        PolicyWorkers(TwoReads, 3, scheme=scheme)
    with pytest.raises(ValueError, match="start_method"):
        PolicyWorkers(TwoReads, 2, scheme=scheme, start_method="vfork")  # type: ignore[arg-type]  # refused

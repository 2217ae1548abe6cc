"""A thread that waits learns of what another one finds out, or sends."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial

import pytest
import torch

from reference_impl.core.clock import Deadline
from reference_impl.core.errors import WorkerDied
from reference_impl.core.ownership import start_thread
from reference_impl.pool.controls import packed, unpacked
from reference_impl.pool.messages import Operation
from reference_impl.pool.state import PoolState
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.pool.envs import Behaviour

WAIT_S = PATIENCE_S
LONG = Behaviour(length=9)
only_processes = pytest.mark.parametrize("way", ["processes", "slots"], indirect=True)


class Deaf:
    """A line whose `listen` hears nothing but a nudge: what it waits for was taken by another."""

    def __init__(self, line):
        self._line = line
        self.listens = threading.Event()
        self.nudged = threading.Event()

    def __getattr__(self, name):
        return getattr(self._line, name)

    def listen(self, wanted, _deadline):
        self.listens.set()
        assert self.nudged.wait(WAIT_S), "nobody said that there is something to look at"
        self.nudged.clear()
        return self._line.listen(wanted, Deadline.after(0.0))

    def nudge(self):
        self.nudged.set()


@pytest.fixture
def apart():
    """Runs calls in threads; each is waited for, and tells what it returned or raised."""
    calls = []

    def start(call):
        came = []

        def run():
            try:
                came.append(call())
            except Exception as error:  # noqa: BLE001 - the test looks at it
                came.append(error)

        thread = start_thread(run, (), name="beside")
        calls.append(thread)

        def result():
            assert thread.join(Deadline.after(WAIT_S + 2.0)), "the call hangs"
            return came[0]

        return result

    yield start
    for thread in calls:
        assert thread.join(Deadline.after(WAIT_S + 2.0))


def acting(td):
    return td.set("action", torch.full((*td.batch_size, 2), 0.25))


def killed(pool, worker):
    os.kill(pool.worker_pids[worker], signal.SIGKILL)
    assert pool._workers.members[worker].join(Deadline.after(WAIT_S))


@only_processes
def test_a_worker_whose_loss_another_thread_has_found_is_lost_for_one_that_waits(
    make_pool, gate, apart
):
    pool = make_pool(LONG, Behaviour(length=9, gate=gate))
    pool.async_step_send(acting(pool.reset())[1:])
    deaf = pool._talk._line = Deaf(pool._talk._line)
    waiting = apart(pool.async_step_recv)
    assert deaf.listens.wait(WAIT_S)
    killed(pool, 1)
    with pytest.raises(WorkerDied):
        pool.get_attr("tag", env_index=1)
    error = waiting()
    assert isinstance(error, WorkerDied), error
    assert (error.worker, error.exitcode) == (1, -signal.SIGKILL)


@only_processes
def test_a_step_that_another_thread_has_found_lost_is_cut_off_for_one_that_waits(
    make_pool, gate, apart
):
    options = {"on_worker_failure": "restart", "restart_backoff": 0.001}
    pool = make_pool(LONG, Behaviour(length=9, gate=gate), **options)
    pool.async_step_send(acting(pool.reset())[1:])
    deaf = pool._talk._line = Deaf(pool._talk._line)
    waiting = apart(pool.async_step_recv)
    assert deaf.listens.wait(WAIT_S)
    killed(pool, 1)
    with pytest.raises(WorkerDied):
        pool.get_attr("tag", env_index=1)
    assert waiting()["next", "truncated"].tolist() == [[True]]


def test_what_another_thread_sends_meanwhile_is_received(make_pool, gate, apart):
    pool = make_pool(Behaviour(length=9, gate=gate), LONG)
    root = acting(pool.reset())
    pool.async_step_send(root[:1])
    waits, listen = threading.Event(), pool._talk._line.listen

    def listening(*args):
        waits.set()
        return listen(*args)

    pool._talk._line.listen = listening
    waiting = apart(pool.async_step_recv)
    assert waits.wait(WAIT_S)
    pool.async_step_send(root[1:])
    try:
        came = waiting()
    finally:
        gate.open()
    assert came["next", "observation"].tolist() == [[2, 1, 1]]
    pool.async_step_recv()


@pytest.mark.parametrize("call", ["step", "step_and_maybe_reset", "reset"])
def test_what_another_thread_asks_of_the_envs_does_not_get_in_the_way(make_pool, call):
    pool = make_pool(LONG, LONG)
    root = acting(pool.reset())
    given = {"data": packed({"name": "tag"})}
    ids = pool._talk.send(Operation.GET_ATTR, {0: None, 1: None}, {0: given, 1: given})
    getattr(pool, call)(root)
    came = pool._talk.receive(partial(PoolState.ready_group, ids=ids))
    assert [unpacked(one.result) for one in came] == [1, 2]
    assert pool.step(root)["next", "observation"].shape == (2, 3)

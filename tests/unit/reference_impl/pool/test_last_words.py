"""What workers said before they went counts, and an interrupt does not cost the next call its answer."""

from __future__ import annotations

import os
import signal

import pytest
import torch

from reference_impl.core.clock import Deadline
from reference_impl.core.errors import WorkerDied
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.pool.answers import answered
from tests.unit.reference_impl.pool.envs import Behaviour

QUIET = Behaviour(length=3)
only_processes = pytest.mark.parametrize("way", ["processes", "slots"], indirect=True)


def act(td):
    return td.set("action", torch.full((*td.shape, 2), 0.5))


@only_processes
def test_what_a_worker_answered_counts_also_if_it_is_found_dead_by_another_call(make_pool):
    pool = make_pool(QUIET, QUIET)
    pool.async_step_send(act(pool.reset()))
    assert answered(pool, 1)
    os.kill(pool.worker_pids[1], signal.SIGKILL)
    assert pool._workers.members[1].join(Deadline.after(PATIENCE_S))
    with pytest.raises(WorkerDied):
        pool.get_attr("tag", env_index=1)
    assert pool.async_step_recv(2)["next", "observation"].tolist() == [[1, 1, 1], [2, 1, 1]]


def test_an_interrupt_as_it_begins_to_wait_does_not_keep_the_next_call_from_it(make_pool):
    pool = make_pool(QUIET)
    root = pool.reset()
    lock = pool._talk._changed
    release = lock.release

    def interrupted():
        lock.release = release
        release()
        raise KeyboardInterrupt

    lock.release = interrupted
    with pytest.raises(KeyboardInterrupt):
        pool.step(act(root))
    pool.async_reset_send(env_index=[0])
    assert pool.async_reset_recv(timeout=PATIENCE_S)["observation"].tolist() == [[1, 2, 0]]

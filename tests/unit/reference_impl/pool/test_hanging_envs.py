"""Who waits for an env that hangs does so until the pool is closed, or it is interrupted, or the worker ends."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import torch
from tensordict import TensorDict

from reference_impl.core.clock import Deadline
from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.pool.envs import Behaviour


def only(env):
    named = torch.arange(2).unsqueeze(-1) == env
    return TensorDict({"_reset": named}, batch_size=[2])


def acting(pool):
    return TensorDict({"action": torch.full((2, 2), 0.25)}, batch_size=[2]).to(pool.device)


CALLS = {
    "a reset of the other": lambda pool: pool.reset(only(0)),
    "a reset of it": lambda pool: pool._reset(only(1)),
    "a reset of all": lambda pool: pool.reset(),
    "a step": lambda pool: pool.step(acting(pool)),
}


@pytest.fixture
def hanging(make_pool, gate):
    """A pool whose second env hangs in a step that its caller has given up on; opened at the end."""
    first = Behaviour(length=9, raise_in_steps=(1,))
    pool = make_pool(first, Behaviour(length=9, gate=gate), shutdown_timeout=1.0)
    pool.reset()
    with pytest.raises(WorkerError, match="worker 0"):
        pool.step(acting(pool))
    gate.await_arrival()
    yield pool
    gate.open(times=9)
    pool.close()
    for worker in pool._workers.members:  # a thread ends once its env comes back
        assert worker.join(Deadline.after(PATIENCE_S))


@pytest.fixture
def default_interrupt():
    """SIGINT raises, also where whoever started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def meanwhile(hanging, gate, monkeypatch):
    """Does something in a thread beside once the pool waits; the env comes back if that ends no wait."""
    timers = []
    listen = hanging._talk._line.listen

    def plan(act):
        def waiting(*args):
            monkeypatch.undo()
            for seconds, do in ((0.2, act), (PATIENCE_S, lambda: gate.open(times=9))):
                timers.append(threading.Timer(seconds, do))
                timers[-1].start()
            return listen(*args)

        monkeypatch.setattr(hanging._talk._line, "listen", waiting)

    yield plan
    for timer in timers:
        timer.cancel()
        timer.join()


@pytest.mark.parametrize("call", CALLS)
def test_a_close_in_another_thread_ends_the_wait(hanging, meanwhile, call):
    meanwhile(hanging.close)
    with pytest.raises(Closed):
        CALLS[call](hanging)


@pytest.mark.usefixtures("default_interrupt")
@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_ends_the_wait_and_the_pool_goes_on(hanging, meanwhile, gate, call):
    main = threading.get_ident()
    meanwhile(lambda: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        CALLS[call](hanging)
    gate.open(times=9)
    assert hanging.reset()["observation"][:, 2].tolist() == [0, 0]


@pytest.mark.parametrize("way", ["processes", "slots"], indirect=True)
@pytest.mark.parametrize("call", CALLS)
def test_the_end_of_its_worker_ends_the_wait(hanging, meanwhile, call):
    meanwhile(lambda: os.kill(hanging.worker_pids[1], signal.SIGKILL))
    if call == "a reset of the other":  # which does not need it: it is shown where it was
        assert CALLS[call](hanging)["observation"].tolist() == [[1, 2, 0], [2, 1, 0]]
    else:
        with pytest.raises(WorkerDied, match=r"worker 1 .*(reset|step)"):
            CALLS[call](hanging)

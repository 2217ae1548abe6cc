"""Pools whose workers have several envs: they answer one by one, and share their worker's fate."""

from __future__ import annotations

import os
import pickle
import signal
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from reference_impl.core import channel
from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.messages import Operation
from tests.unit.reference_impl.pool.envs import Behaviour, ProbeEnv

QUIET = Behaviour(length=3)
only_processes = pytest.mark.parametrize("way", ["processes", "slots"], indirect=True)


@pytest.fixture
def make(make_pool):
    return partial(make_pool, envs_per_worker=2)


@pytest.fixture
def restarting(make):
    return partial(make, on_worker_failure="restart", restart_backoff=0.001)


def act(td):
    return td.set("action", torch.full((*td.batch_size, 2), 0.25))


def shown(td):
    return td["observation"].tolist()


def lose(pool, worker):
    """Kill a worker, or close the channel of its thread."""
    if pool.backend == "threading":
        channel.close(pool.channels()["commands"][worker])
    else:
        os.kill(pool.worker_pids[worker], signal.SIGKILL)


@pytest.mark.parametrize("envs_per_worker", [2, 3, 7])
def test_whatever_a_worker_has_the_values_are_those_of_an_env_a_worker(make_pool, envs_per_worker):
    plans = [Behaviour(length=length) for length in (1, 2, 3, 4, 5)]
    pools = [make_pool(*plans), make_pool(*plans, envs_per_worker=envs_per_worker)]
    assert pools[0].specs == pools[1].specs
    roots = [pool.reset() for pool in pools]
    for _ in range(6):
        both = [
            pool.step_and_maybe_reset(act(root)) for pool, root in zip(pools, roots, strict=True)
        ]
        assert (both[0][0] == both[1][0]).all()
        roots = [root for _, root in both]
        assert (roots[0] == roots[1]).all()


@only_processes
def test_workers_are_counted_and_the_last_one_may_have_fewer_envs(make):
    pool = make(QUIET, QUIET, QUIET, QUIET, QUIET)
    assert len(pool.worker_pids) == pool.stats()["num_workers"] == 3
    assert pool.get_attr("tag") == (1, 2, 3, 4, 5)
    assert len(set(pool.worker_pids)) == 3


@pytest.mark.parametrize("envs_per_worker", [0, -1, 1.5, True, None])
def test_a_number_of_envs_that_no_worker_can_have_is_refused(envs_per_worker):
    with pytest.raises(ValueError, match="envs_per_worker must be a positive int, got"):
        AsyncEnvPool([ProbeEnv], envs_per_worker=envs_per_worker)


def test_an_answer_does_not_wait_for_neighbours_that_come_later(make, gate):
    pool = make(QUIET, Behaviour(gate=gate))
    pool.async_step_send(act(pool.reset()))
    gate.await_arrival()
    came = pool.async_step_recv(timeout=None)
    assert list(came["env_index"]) == [0]
    assert shown(came["next"]) == [[1, 1, 1]]
    gate.open()
    assert shown(pool.async_step_recv()["next"]) == [[2, 1, 1]]


def test_envs_are_asked_and_received_one_by_one(make):
    pool = make(QUIET, QUIET, QUIET)
    root = act(pool.reset())
    for env in (2, 1, 0):
        pool.async_step_send(root[env], env_index=env)
    for env in (0, 2, 1):
        assert shown(pool.async_step_recv(env_index=env)["next"]) == [env + 1, 1, 1]


def test_a_masked_reset_leaves_the_neighbours_where_they_are(make):
    pool = make(QUIET, QUIET, QUIET)
    stepped, root = pool.step_and_maybe_reset(act(pool.reset()))
    root["_reset"] = torch.tensor([[False], [True], [False]])
    assert shown(pool.reset(root)) == [[1, 1, 1], [2, 2, 0], [3, 1, 1]]
    stepped, _ = pool.step_and_maybe_reset(act(pool.reset(root)))
    assert shown(stepped["next"]) == [[1, 1, 2], [2, 3, 1], [3, 1, 2]]


def test_an_env_that_raises_does_not_touch_its_neighbours_and_is_named_with_its_worker(make):
    plans = [Behaviour(length=5), Behaviour(length=5), Behaviour(length=5), Behaviour(length=5)]
    plans[2] = Behaviour(length=5, raise_in_steps=(1,))
    pool = make(*plans)
    root = act(pool.reset())
    with pytest.raises(
        WorkerError, match=r"worker 1 failed in \S+.* of env 2: .*planned"
    ) as caught:
        pool.step_and_maybe_reset(root)
    assert (caught.value.worker, caught.value.env) == (1, 2)
    assert pickle.loads(pickle.dumps(caught.value)).env == 2
    stepped, _ = pool.step_and_maybe_reset(root)
    assert shown(stepped["next"]) == [[1, 1, 2], [2, 1, 2], [3, 1, 1], [4, 1, 2]]


@only_processes
def test_a_worker_that_dies_takes_all_of_its_envs_along_and_no_other(make):
    pool = make(QUIET, QUIET, Behaviour(), Behaviour(kill_in_steps=(1,)))
    root = act(pool.reset())
    with pytest.raises(WorkerDied, match=r"worker 1 failed in .* of env [23]: .*code -9") as caught:
        pool.step(root)
    assert pickle.loads(pickle.dumps(caught.value)).env == caught.value.env
    assert pool.stats()["lost"] == [2, 3]
    for env in (2, 3):
        with pytest.raises(WorkerDied, match=f"worker 1 failed in step of env {env}"):
            pool.async_step_send(root[env], env_index=env)
    pool.async_step_send(root[:2], env_index=[0, 1])
    assert shown(pool.async_step_recv(min_get=2)["next"]) == [[1, 1, 2], [2, 1, 2]]


def test_one_that_died_while_idle_is_found_by_a_call_of_any_of_its_envs(make):
    pool = make(QUIET, QUIET, QUIET)
    root = act(pool.reset())
    lose(pool, 0)
    with pytest.raises(WorkerDied, match="worker 0"):
        pool.step_and_maybe_reset(root)
    assert pool.stats()["lost"] == [0, 1]
    assert pool.get_attr("tag", env_index=2) == 3


@only_processes
def test_an_env_that_cannot_be_made_is_named_with_its_worker(backend, exchange):
    def refuse():
        raise OSError("planned: no")

    with pytest.raises(WorkerError, match="worker 1 failed in construction of env 3: OSError: pl"):
        AsyncEnvPool(
            [ProbeEnv, ProbeEnv, ProbeEnv, refuse],
            envs_per_worker=2,
            backend=backend,
            exchange=exchange,
            start_method="fork",
        )


@only_processes
def test_a_restart_brings_all_envs_back_and_truncates_what_each_was_doing(restarting):
    pool = restarting(Behaviour(kill_in_steps=(2,)), Behaviour(length=9), Behaviour(length=9))
    _, root = pool.step_and_maybe_reset(act(pool.reset()))
    stepped, root = pool.step_and_maybe_reset(act(root))
    assert stepped["next", "truncated"].flatten().tolist() == [True, True, False]
    assert shown(stepped["next"]) == [[1, 1, 1], [2, 1, 1], [3, 1, 2]]
    assert shown(root) == [[1, 1, 0], [2, 1, 0], [3, 1, 2]]
    assert pool.stats()["restarts"] == (1, 1, 0)
    stepped, root = pool.step_and_maybe_reset(act(root))
    assert shown(stepped["next"]) == [[1, 1, 1], [2, 1, 1], [3, 1, 3]]
    assert not stepped["next", "truncated"].any()


@only_processes
def test_what_an_env_answered_before_its_neighbour_lost_the_worker_counts(restarting):
    pool = restarting(Behaviour(length=9), Behaviour(kill_in_steps=(2,)))
    _, root = pool.step_and_maybe_reset(act(pool.reset()))
    stepped, root = pool.step_and_maybe_reset(act(root))
    assert stepped["next", "truncated"].flatten().tolist() == [False, True]
    assert shown(root) == [[1, 1, 2], [2, 1, 0]]
    stepped, root = pool.step_and_maybe_reset(act(root))
    assert stepped["next", "truncated"].flatten().tolist() == [True, False]
    assert shown(root) == [[1, 1, 0], [2, 1, 1]]


@only_processes
def test_many_losses_cost_no_env_anything_but_the_step_that_its_own_worker_held(restarting):
    plans = [Behaviour(length=1000) for _ in range(5)]
    plans[3] = Behaviour(length=1000, kill_in_steps=(4,))
    pool = restarting(*plans, max_restarts=100)
    root = act(pool.reset())
    cuts = [0] * 5
    for step in range(40):
        if step % 9 == 8:
            lose(pool, 0)
        before = shown(root)
        stepped, root = pool.step_and_maybe_reset(act(root))
        for env, truncated in enumerate(stepped["next", "truncated"].flatten().tolist()):
            cuts[env] += truncated
            tag, episode, at = before[env]
            assert shown(stepped["next"])[env] == [tag, episode, at + (not truncated)]
            assert not truncated or shown(root)[env] == [tag, 1, 0]
    assert cuts[0] == cuts[1] == 4
    assert cuts[3] > 5
    assert cuts[3] - cuts[2] in (0, 1)  # of the last loss it would tell in its next step
    assert cuts[4] == 0
    assert pool.stats()["restarts"] == (4, 4, cuts[3], cuts[3], 0)


def test_what_several_envs_of_a_lost_worker_were_asked_is_answered_in_any_order_of_asking(
    restarting,
):
    pool = restarting(QUIET, QUIET)
    root = act(pool.reset())
    lose(pool, 0)
    for env in (1, 0):
        pool.async_step_and_maybe_reset_send(root[env], env_index=env)
    for env in (0, 1):
        stepped, fresh = pool.async_step_and_maybe_reset_recv(env_index=env)
        assert stepped["next", "truncated"].all()
        assert shown(fresh) == [env + 1, 1, 0]


def test_an_env_that_is_idle_when_its_neighbour_loses_the_worker_misses_it_at_its_next_step(
    restarting,
):
    pool = restarting(QUIET, QUIET)
    root = act(pool.reset())
    lose(pool, 0)
    for env in (1, 0):
        pool.async_step_send(root[env], env_index=env)
        stepped = pool.async_step_recv(env_index=env)
        assert stepped["next", "truncated"].all()
    assert pool.stats()["restarts"] == (1, 1)


def test_new_envs_have_the_parameters_that_were_in_force_in_each(restarting):
    pool = restarting(QUIET, QUIET, QUIET)
    pool.reset()
    pool.update_env_params([{"tag": 7}, {"tag": 8}], env_index=[1, 2])
    lose(pool, 0)
    assert shown(pool.reset()) == [[1, 1, 0], [7, 1, 0], [8, 2, 0]]


def test_seeds_of_neighbours_differ_before_and_after_a_restart(restarting):
    pool = restarting(QUIET, QUIET, QUIET)
    pool.set_seed(5)
    draws = pool.reset()["draw"].flatten().tolist()
    lose(pool, 0)
    draws += pool.reset()["draw"].flatten().tolist()[:2]
    assert len(set(draws)) == 5


def test_calls_attributes_parameters_and_state_reach_the_env_that_is_named(make):
    pool = make(QUIET, QUIET, QUIET)
    pool.reset()
    pool.set_attr("tag", [20, 30], env_index=[1, 2])
    assert pool.get_attr("tag") == (1, 20, 30)
    assert pool.update_env_params({"tag": 5}, env_index=1) == {1: 1}
    assert pool.env_params_versions() == (0, 1, 0)
    assert pool.get_attr("tag") == (1, 5, 30)
    assert set(pool.state_dict()) == {"worker0", "worker1", "worker2"}


class Closing(ProbeEnv):
    """Tells that it was closed, or raises instead."""

    def __init__(self, told, fails):
        super().__init__(1)
        self._told, self._fails = told, fails

    def close(self, *, raise_if_closed=True):
        self._told.append(self._fails)
        super().close(raise_if_closed=raise_if_closed)
        if self._fails:
            raise OSError("planned: it does not close")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_env_that_raises_when_it_is_closed_does_not_keep_its_neighbours_open():
    told: list[bool] = []
    makers = [partial(Closing, told, False), partial(Closing, told, True)]  # noqa: FBT003 - its own
    pool = AsyncEnvPool(makers, backend="threading", envs_per_worker=2)
    pool.close()
    assert told == [True, False]


class Counting(gymnasium.Env[Any, Any]):
    """Shows its steps; fails in one of them."""

    observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1e9, 1e9, (2,))
    action_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1, 1, (1,))

    def __init__(self, tag, fails_at=0):
        self.tag, self.fails_at, self.steps = tag, fails_at, 0

    def reset(self, *, seed=None, options=None):  # noqa: ARG002 - gymnasium's
        return np.array([self.tag, 0], np.float32), {}

    def step(self, action):  # noqa: ARG002 - gymnasium's
        self.steps += 1
        if self.steps == self.fails_at:
            raise LookupError("planned")
        return np.array([self.tag, self.steps], np.float32), 1.0, False, self.steps == 3, {}


def test_gymnasium_envs_of_one_worker_are_stepped_straight_into_their_slots():
    makers = [partial(Counting, tag) for tag in range(5)]
    with_one, with_some = (
        AsyncEnvPool(makers, start_method="fork", exchange="shm", envs_per_worker=count)
        for count in (1, 2)
    )
    roots = [pool.reset() for pool in (with_one, with_some)]
    for _ in range(4):
        roots = [root.set("action", torch.zeros(5, 1)) for root in roots]
        one, some = (
            with_one.step_and_maybe_reset(roots[0]),
            with_some.step_and_maybe_reset(roots[1]),
        )
        assert (one[0] == some[0]).all()
        assert (one[1] == some[1]).all()
        roots = [one[1], some[1]]
    with_one.close()
    with_some.close()


def test_of_gymnasium_envs_that_share_a_worker_one_that_raises_costs_no_other_its_step():
    makers = [partial(Counting, 0), partial(Counting, 1, 2), partial(Counting, 2)]
    pool = AsyncEnvPool(makers, start_method="fork", exchange="shm", envs_per_worker=3)
    root = pool.reset().set("action", torch.zeros(3, 1))
    pool.step_and_maybe_reset(root)
    with pytest.raises(WorkerError, match="of env 1: LookupError: planned"):
        pool.step_and_maybe_reset(root)
    assert shown(pool.step_and_maybe_reset(root)[0]["next"]) == [[0, 3], [1, 3], [2, 3]]
    pool.close()


class Unreadable:
    """Raises where it is rebuilt, if that is in another process than the test's."""

    def __init__(self, at_home=None):
        self.home = at_home or os.getpid()

    def __reduce__(self):
        return rebuilt_only_at, (self.home,)


def rebuilt_only_at(home):
    if os.getpid() != home:
        raise LookupError("planned: not here")
    return Unreadable(home)


@only_processes
def test_a_call_that_cannot_be_read_is_not_taken_for_the_step_of_a_neighbour(make, gate):
    pool = make(Behaviour(gate=gate), QUIET)
    root = act(pool.reset())
    pool.async_step_send(root[:1], env_index=[0])
    gate.await_arrival()
    gate.open()
    with pytest.raises(WorkerError, match=r"of env 1.*could not read its call.*not here"):
        pool._talk.ask(Operation.RESET, {1: None}, {1: {"options": Unreadable()}})
    assert shown(pool.async_step_recv()["next"]) == [[1, 1, 1]]


@pytest.mark.parametrize("way", ["slots"], indirect=True)
def test_a_message_that_cannot_be_read_is_not_taken_for_what_lies_in_the_slot_of_a_neighbour(
    make, gate
):
    pool = make(Behaviour(gate=gate), QUIET)
    talk = pool._talk
    pool.async_step_send(act(pool.reset())[:1], env_index=[0])
    gate.await_arrival()
    [asked] = talk.send(Operation.RESET, {1: None}, {1: {"options": 1}})
    with talk._changed:
        talk._unreadable(pool._workers.members[0], "planned: half a message", "")
    with pytest.raises(WorkerError, match="of env 1: planned: half a message"):
        talk.receive(lambda state: state.ready_group((asked,)))
    gate.open()
    assert shown(pool.async_step_recv()["next"]) == [[1, 1, 1]]

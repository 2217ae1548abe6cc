"""Pools that replace workers which are lost."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
import torch

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from reference_impl.core.ownership import start_thread
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.env_params import Update, reinits, superseding
from reference_impl.pool.options import Options
from reference_impl.pool.restarts import RestartingConversation, Restarts, cut_off
from reference_impl.pool.state import Lost
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.pool.envs import Behaviour, ProbeEnv

QUIET = Behaviour(length=3)


@pytest.fixture
def make(make_pool):
    def made(*behaviours, **options):
        usual = {"on_worker_failure": "restart", "restart_backoff": 0.001}
        return make_pool(*behaviours, **{**usual, **options})

    return made


class Watched(threading.Event):
    """Tells that somebody waits for it."""

    def __init__(self):
        super().__init__()
        self.waited_for = threading.Event()

    def wait(self, timeout=None):
        self.waited_for.set()
        return super().wait(timeout)


only_processes = pytest.mark.parametrize("way", ["processes", "slots"], indirect=True)


def act(td):
    return td.set("action", torch.full((*td.batch_size, 2), 0.25))


def lose(pool, env):
    """Kill the worker of an env, or close the channel of its thread."""
    if pool.backend == "threading":
        channel.close(pool.channels()["commands"][env])
    else:
        os.kill(pool.worker_pids[env], signal.SIGKILL)


def shown(td):
    return td["observation"].tolist()


@only_processes
@pytest.mark.parametrize("send_and_receive", [False, True])
def test_a_step_that_is_lost_is_truncated_where_it_started_and_the_env_begins_anew(
    make, send_and_receive
):
    pool = make(QUIET, Behaviour(length=5, kill_in_steps=(2,)))
    _, td = pool.step_and_maybe_reset(act(pool.reset()))
    if send_and_receive:
        pool.async_step_and_maybe_reset_send(act(td))
        stepped, root = pool.async_step_and_maybe_reset_recv(min_get=2)
    else:
        stepped, root = pool.step_and_maybe_reset(act(td))
    assert shown(stepped["next"]) == [[1.0, 1.0, 2.0], [2.0, 1.0, 1.0]]
    assert stepped["next", "reward"].flatten().tolist() == [0.5, 0.0]
    assert stepped["next", "truncated"].flatten().tolist() == [False, True]
    assert stepped["next", "done"].flatten().tolist() == [False, True]
    assert stepped["next", "terminated"].flatten().tolist() == [False, False]
    assert shown(root) == [[1.0, 1.0, 2.0], [2.0, 1.0, 0.0]]
    assert set(root.keys()) == set(td.keys())
    stepped, root = pool.step_and_maybe_reset(act(root))
    assert shown(stepped["next"]) == [[1.0, 1.0, 3.0], [2.0, 1.0, 1.0]]
    assert pool.stats()["restarts"] == (0, 1)


@only_processes
def test_a_plain_step_that_is_lost_is_truncated_too_and_the_caller_resets(make):
    pool = make(Behaviour(kill_in_steps=(1,)), QUIET)
    stepped = pool.step(act(pool.reset()))
    assert stepped["next", "truncated"].flatten().tolist() == [True, False]
    assert shown(pool.reset())[0] == [1.0, 1.0, 0.0]


def test_one_that_is_lost_between_calls_is_missed_by_the_next_step(make):
    pool = make(QUIET, QUIET)
    td = pool.reset()
    lose(pool, 1)
    stepped, root = pool.step_and_maybe_reset(act(td))
    assert stepped["next", "truncated"].flatten().tolist() == [False, True]
    assert shown(root) == [[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]]


@only_processes
def test_what_was_answered_before_a_worker_was_lost_is_received_after_its_restart(make):
    pool = make(QUIET, QUIET)
    root = act(pool.reset())
    pool.async_step_and_maybe_reset_send(root)
    # All have answered before the first is received.
    pool._talk.receive(lambda state: () if len(state._arrived) == 2 else None)
    lose(pool, 0)
    with pytest.raises(WorkerDied):
        pool.get_attr("tag")
    stepped, fresh = pool.async_step_and_maybe_reset_recv(min_get=2)
    assert shown(stepped["next"]) == shown(fresh) == [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]


def test_one_that_is_lost_between_calls_is_reset_by_the_next_reset(make):
    pool = make(QUIET, QUIET)
    pool.reset()
    lose(pool, 0)
    assert shown(pool.reset()) == [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]
    stepped, _ = pool.step_and_maybe_reset(act(pool.reset()))
    assert not stepped["next", "truncated"].any()


def test_a_call_that_is_lost_raises_once_since_it_may_have_happened(make):
    pool = make(QUIET, QUIET)
    pool.reset()
    lose(pool, 1)
    with pytest.raises(WorkerDied, match="worker 1"):
        pool.get_attr("tag")
    assert pool.get_attr("tag") == (1, 2)


def test_a_new_env_has_the_parameters_in_force(make):
    pool = make(QUIET, QUIET, show_params_version=True)
    pool.reset()
    pool.update_env_params({"tag": 7})
    pool.update_env_params({"tag": 9}, when="reset")
    lose(pool, 1)
    root = pool.reset()
    assert shown(root) == [[9.0, 2.0, 0.0], [9.0, 1.0, 0.0]]
    assert root["env_params_version"].flatten().tolist() == [2, 2]


def test_seeds_do_not_repeat(make):
    pool = make(QUIET, QUIET)
    draws = []
    pool.set_seed(11)
    for env in (0, 0, 1):
        draws += pool.reset()["draw"].flatten().tolist()
        lose(pool, env)
    draws += pool.reset()["draw"].flatten().tolist()
    assert len(set(draws)) == 5  # two at first, and one more for each loss


def test_restarts_are_bounded(make):
    pool = make(QUIET, QUIET, max_restarts=2)
    td = pool.reset()
    for _ in range(2):
        lose(pool, 0)
        _, td = pool.step_and_maybe_reset(act(td))
    lose(pool, 0)
    with pytest.raises(WorkerDied, match=r"worker 0.*after 2 restarts, which is all it gets"):
        pool.step_and_maybe_reset(act(td))
    with pytest.raises(WorkerDied):
        pool.reset()
    assert pool.stats()["lost"] == [0]


@only_processes
def test_an_env_that_cannot_be_made_again_says_why(backend, exchange, tmp_path):
    made = tmp_path / "made"

    def once():
        if made.exists():
            raise OSError("planned: not twice")
        made.touch()
        return ProbeEnv(1)

    options = {"backend": backend, "exchange": exchange, "start_method": "fork"}
    pool = AsyncEnvPool([once], on_worker_failure="restart", restart_backoff=0.001, **options)
    lose(pool, 0)
    with pytest.raises(WorkerDied, match=r"after 3 restarts.*OSError: planned: not twice"):
        pool.reset()
    pool.close()


@only_processes
def test_an_env_that_raises_is_not_replaced(make):
    pool = make(QUIET, Behaviour(raise_in_steps=(1,)))
    with pytest.raises(WorkerError, match="planned in step 1"):
        pool.step_and_maybe_reset(act(pool.reset()))
    assert pool.stats()["restarts"] == (0, 0)


@only_processes
def test_a_close_does_not_wait_for_a_restart(make):
    pool = make(QUIET, QUIET, restart_backoff=60.0)
    td = act(pool.reset())
    lose(pool, 1)
    raised = []
    pool._workers.closing = Watched()

    def step():
        try:
            pool.step_and_maybe_reset(td)
        except (Closed, WorkerError) as error:
            raised.append(error)

    stepping = start_thread(step, (), name="stepping")
    assert pool._workers.closing.waited_for.wait(PATIENCE_S)
    pool.close()
    assert stepping.join(Deadline.after(PATIENCE_S))
    assert len(raised) == 1


@only_processes
def test_many_losses_lose_nothing_but_what_the_lost_held(make):
    pool = make(Behaviour(length=50), Behaviour(length=50, kill_in_steps=(3,)), max_restarts=100)
    td = pool.reset()
    cut = 0
    for step in range(1, 31):
        stepped, td = pool.step_and_maybe_reset(act(td))
        cut += int(stepped["next", "truncated"][1])
        assert shown(stepped["next"])[0] == [1.0, 1.0, float(step)]
    assert cut == 10
    assert pool.stats()["restarts"] == (0, 10)


class Mortal:
    """Workers that are replaced at once; what is waited before passes on a clock."""

    def __init__(self):
        self.time_s = 100.0
        self.waited_s = []
        self.closing = self

    def now(self):
        return self.time_s

    def wait(self, timeout):
        self.waited_s.append(timeout)
        self.time_s += timeout
        return False

    def replace(self, *args):
        pass


@pytest.mark.parametrize(
    ("lives_s", "waited_s"),
    [
        ((9.0, 0.0, 0.0, 0.0), [1.0, 2.0, 4.0, 8.0]),
        ((9.0, 9.0, 9.0, 9.0), [1.0, 1.0, 1.0, 1.0]),
        ((9.0, 0.5, 1.5, 5.0), [1.0, 2.0, 4.0, 1.0]),
        ((9.0, *[0.0] * 6), [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]),
    ],
    ids=[
        "die at once",
        "live long",
        "live for less, then for more",
        "no longer than half a minute",
    ],
)
def test_it_is_waited_longer_only_for_workers_that_die_young(lives_s, waited_s):
    workers: Any = Mortal()
    built: Any = (None,)
    options = Options(
        backend="multiprocessing",
        stack="dense",
        exchange="queue",
        start_method="fork",
        shutdown_timeout=1.0,
        start_timeout=1.0,
        max_restarts=100,
        restart_backoff=1.0,
    )
    restarts = Restarts(workers, built, {}, options, workers)
    for life_s in lives_s:
        workers.time_s += life_s
        assert restarts.replace(0, (0,), Lost()) is None
    assert workers.waited_s == waited_s


def test_the_answer_to_what_was_cut_off_has_every_entry_of_the_specs(make):
    pool = make(QUIET)
    answer = cut_off(pool._restarts.built[0], None)
    assert set(answer.entries) == {
        "observation",
        "draw",
        "filler",
        "reward",
        "done",
        "terminated",
        "truncated",
    }


@only_processes
def test_a_step_that_is_cut_off_and_given_up_on_is_not_taken_for_the_next_reset(
    make, gate, monkeypatch
):
    raising = Behaviour(length=9, raise_in_steps=(1,), gate=gate)
    pool = make(raising, Behaviour(length=9, kill_in_steps=(1,)))
    root = pool.reset()
    cut = RestartingConversation._cut

    def then_open(*args):
        cut(*args)
        gate.open()

    monkeypatch.setattr(RestartingConversation, "_cut", then_open)
    with pytest.raises(WorkerError, match="planned in step 1"):
        pool.step_and_maybe_reset(act(root))
    assert pool.reset()["observation"].tolist() == [[1, 2, 0], [2, 2, 0]]


@pytest.mark.parametrize(
    ("reinit", "kept"), [((), [1, 2]), (("RewardSum",), [1, 2]), (("ObservationNorm",), [2])]
)
def test_a_new_env_gets_the_statistics_that_no_later_update_has_made_anew(reinit, kept):
    first = Update(values={"level": 2}, version=1, reinit=reinits(["ObservationNorm"]), when="now")
    second = Update(values={"level": 3}, version=2, reinit=reinits(reinit), when="now")
    assert [each.version for each in (*superseding([first], second), second)] == kept

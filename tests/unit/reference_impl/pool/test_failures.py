"""What raises, dies, hangs or goes away: named, in time, and without harm to the rest."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import psutil
import pytest
import torch
from torchrl.testing.mocking_classes import CountingBatchedEnv

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from reference_impl.pool import AsyncEnvPool
from tests.patience import PATIENCE_S
from tests.stopping import stop
from tests.unit.reference_impl.pool.answers import answered
from tests.unit.reference_impl.pool.envs import Behaviour, ProbeEnv

ROOT = Path(__file__).parents[4]


FAR_S = 2 * PATIENCE_S


class EndsInTime:
    """Fails the test if the block goes on for so long that it waits for what is `FAR_S` away, or does not come."""

    def __enter__(self) -> None:
        self.deadline = Deadline.after(PATIENCE_S)

    def __exit__(self, *_: object) -> None:
        assert not self.deadline.expired


def act(td):
    return td.set("action", torch.full((*td.shape, 2), 0.5))


only_processes = pytest.mark.parametrize("way", ["processes", "slots"], indirect=True)


def test_an_exception_in_a_step_names_worker_operation_and_cause(make_pool):
    pool = make_pool(Behaviour(), Behaviour(raise_in_steps=(1,)))
    with pytest.raises(WorkerError, match=r"worker 1 failed in _step.*planned in step 1") as caught:
        pool.step(act(pool.reset()))
    assert "in _step" in caught.value.traceback


def test_after_an_exception_the_next_step_is_answered_by_its_own_results(make_pool):
    pool = make_pool(Behaviour(), Behaviour(raise_in_steps=(1,)))
    td = act(pool.reset())
    with pytest.raises(WorkerError):
        pool.step(td)
    assert pool.step(td)["next", "observation"].tolist() == [[1, 1, 2], [2, 1, 1]]


def test_a_failed_env_does_not_cost_the_others_their_results(make_pool):
    pool = make_pool(Behaviour(), Behaviour(raise_in_steps=(1,)))
    pool.async_step_send(act(pool.reset()))
    with pytest.raises(WorkerError, match="worker 1"):
        pool.async_step_recv(min_get=2)
    assert pool.async_step_recv()["next", "observation"].tolist() == [[1, 1, 1]]


def test_an_exception_is_reported_once(make_pool):
    pool = make_pool(Behaviour(raise_in_resets=(2,)))
    pool.reset()
    with pytest.raises(WorkerError, match="reset"):
        pool.reset()
    assert pool.reset()["observation"].tolist() == [[1, 2, 0]]


def test_a_step_given_up_on_is_not_taken_for_the_next(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate), Behaviour(raise_in_steps=(1,)))
    td = act(pool.reset())
    with pytest.raises(WorkerError, match="worker 1"):
        pool.step(td)
    gate.open(2)
    assert pool.step(td)["next", "observation"].tolist() == [[1, 1, 2], [2, 1, 1]]


@only_processes
def test_a_reply_that_cannot_be_pickled_is_a_failure_of_that_call_alone(make_pool, exchange):
    exchange = "auto" if exchange == "shm" else exchange  # strict slots refuse it before
    pool = make_pool(Behaviour(unpicklable_in_steps=(1,)), exchange=exchange)
    td = act(pool.reset())
    with pytest.raises(WorkerError, match="planned: cannot be pickled"):
        pool.step(td)
    assert pool.step(td)["next", "observation"].tolist() == [[1, 1, 2]]


@only_processes
@pytest.mark.parametrize(
    ("plan", "exitcode"),
    [(Behaviour(kill_in_steps=(1,)), -signal.SIGKILL), (Behaviour(exit_in_steps=(1,)), 7)],
    ids=["killed", "exited"],
)
def test_the_death_of_a_worker_in_a_step_is_noticed(make_pool, plan, exitcode):
    pool = make_pool(Behaviour(), plan)
    td = act(pool.reset())
    with EndsInTime(), pytest.raises(WorkerDied, match="worker 1") as caught:
        pool.step(td)
    assert caught.value.exitcode == exitcode


@only_processes
def test_a_dead_worker_is_refused_at_once_and_the_others_go_on(make_pool):
    pool = make_pool(Behaviour(), Behaviour(kill_in_steps=(1,)))
    td = act(pool.reset())
    for _ in range(2):
        with pytest.raises(WorkerDied):
            pool.step(td)
    pool.async_step_send(td[:1], env_index=[0])
    assert list(pool.async_step_recv(timeout=PATIENCE_S)["env_index"]) == [0]


@only_processes
def test_a_step_refused_for_a_dead_worker_moves_nobody(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    td = act(pool.reset())
    os.kill(pool.worker_pids[1], signal.SIGKILL)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            pool.step(td)
    pool.async_step_send(td[:1], env_index=[0])
    assert pool.async_step_recv()["next", "observation"][0, 2].item() <= 2


@only_processes
def test_closing_with_a_dead_worker_is_quick(make_pool):
    pool = make_pool(Behaviour(), Behaviour(kill_in_steps=(1,)), shutdown_timeout=FAR_S)
    with pytest.raises(WorkerDied):
        pool.step(act(pool.reset()))
    with EndsInTime():
        pool.close()


@pytest.mark.parametrize("way", ["threads"], indirect=True)
def test_an_exit_in_a_thread_is_a_failure_of_that_call_alone(make_pool):
    pool = make_pool(Behaviour(exit_in_steps=(1,)))
    td = act(pool.reset())
    with pytest.raises(WorkerError, match=r"worker 0 .*SystemExit: 7"):
        pool.step(td)
    assert pool.step(td)["next", "observation"].tolist() == [[1, 1, 1]]


@only_processes
def test_a_stopped_worker_is_ended_within_the_deadline(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    pool.reset()
    pids = pool.worker_pids
    stop(pids[0])
    os.waitpid(pids[0], os.WUNTRACED)  # now it is stopped, no sooner
    with EndsInTime():
        pool.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)


@only_processes
def test_a_worker_that_hangs_in_its_env_is_ended_within_the_deadline(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate), shutdown_timeout=1.0)
    pool.async_step_send(act(pool.reset()))
    gate.await_arrival()
    with EndsInTime():
        pool.close()


@pytest.mark.parametrize("way", ["threads"], indirect=True)
def test_a_thread_that_hangs_in_its_env_is_left_at_the_deadline_and_logged(make_pool, gate, caplog):
    pool = make_pool(Behaviour(gate=gate), shutdown_timeout=0.5)
    pool.async_step_send(act(pool.reset()))
    gate.await_arrival()
    with EndsInTime():
        pool.close()
    gate.open()
    assert "worker 0 did not end" in caplog.text
    assert pool._workers.members[0].join(Deadline.after(PATIENCE_S))


def test_closing_twice_is_no_error(make_pool):
    pool = make_pool(Behaviour())
    pool.close()
    pool.shutdown()


def test_a_closed_pool_says_so(make_pool):
    pool = make_pool(Behaviour())
    pool.close()
    with pytest.raises(Closed):
        pool.reset()


def test_closing_with_unread_results_is_quick(make_pool):
    pool = make_pool(Behaviour(size=1_000_000), shutdown_timeout=FAR_S)
    pool.async_step_send(act(pool.reset()))
    with EndsInTime():
        pool.close()


@pytest.mark.parametrize("name", ["commands", "results"])
def test_closing_after_the_channels_is_quick(make_pool, name):
    pool = make_pool(Behaviour(), Behaviour(), shutdown_timeout=FAR_S)
    pool.reset()
    for end in pool.channels()[name]:
        channel.close(end)
    with EndsInTime():
        pool.close()


def test_a_closed_channel_is_a_lost_env_not_a_hang(make_pool):
    pool = make_pool(Behaviour(), Behaviour())
    td = act(pool.reset())
    channel.close(pool.channels()["results"][1])
    with EndsInTime(), pytest.raises(WorkerDied, match="worker 1"):
        pool.step(td)


def test_a_call_that_waits_ends_when_another_thread_closes(make_pool, gate):
    pool = make_pool(Behaviour(gate=gate), shutdown_timeout=1.0)
    pool.async_step_send(act(pool.reset()))
    gate.await_arrival()
    raised = []

    def receive():
        try:
            pool.async_step_recv()
        except RuntimeError as error:
            raised.append(error)

    waiting = threading.Thread(target=receive)  # noqa: TID251 - joined below
    waiting.start()
    opening = threading.Timer(0.2, gate.open)
    opening.start()
    pool.close()
    for thread in (waiting, opening):  # else one that is late would write to what is closed by then
        thread.join(PATIENCE_S)
    assert not waiting.is_alive()
    assert len(raised) <= 1


def test_several_threads_each_receive_their_own_env(make_pool):
    pool = make_pool(*[Behaviour(length=1000)] * 3)
    td = act(pool.reset())
    seen: dict[int, list[list[float]]] = {env: [] for env in range(3)}

    def drive(env):
        for _ in range(50):
            pool.async_step_send(td[env], env_index=env)
            seen[env].append(pool.async_step_recv(env_index=env)["next", "observation"].tolist())

    drivers = [threading.Thread(target=drive, args=(env,)) for env in seen]  # noqa: TID251 - they stand for the user's own
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join(PATIENCE_S)
    for env, shown in seen.items():
        assert shown == [[env + 1, 1, step] for step in range(1, 51)]


def test_a_maker_that_raises_is_named(backend, exchange):
    def broken():
        raise LookupError("planned in the maker")

    makers = [ProbeEnv, broken]
    with pytest.raises(WorkerError, match=r"worker 1 .*construction.*planned in the maker"):
        AsyncEnvPool(makers, backend=backend, exchange=exchange, start_method="fork")


def test_envs_that_do_not_go_together_leave_nothing_running(backend, exchange):
    limits = torch.tensor([2, 3, 4])
    batched = partial(CountingBatchedEnv, batch_size=limits.shape, max_steps=limits)
    makers = [ProbeEnv, batched]
    with pytest.raises(RuntimeError, match="Shapes differ"):
        AsyncEnvPool(makers, backend=backend, exchange=exchange, start_method="fork")


def test_a_maker_that_returns_no_env_is_named(backend, exchange):
    with pytest.raises(WorkerError, match=r"worker 0 .*EnvBase"):
        AsyncEnvPool([dict], backend=backend, exchange=exchange, start_method="fork")


def test_a_worker_that_dies_while_it_makes_its_env_is_named():
    with EndsInTime(), pytest.raises(WorkerDied, match=r"worker 1 .*construction.*3"):
        AsyncEnvPool([ProbeEnv, partial(os._exit, 3)], start_method="fork")


def test_a_maker_that_cannot_travel_is_named():
    lock = threading.Lock()
    with pytest.raises(WorkerError, match=r"worker 0 .*construction.*pickle"):
        AsyncEnvPool([lambda: lock], start_method="spawn")


def test_a_maker_that_hangs_is_ended_at_the_deadline(gate):
    with EndsInTime(), pytest.raises(WorkerError, match=r"worker 0 .*not made in time"):
        AsyncEnvPool([gate.pass_through], start_method="fork", start_timeout=0.5)


def test_a_pool_that_is_forgotten_ends_its_workers(backend, exchange):
    pool = AsyncEnvPool([ProbeEnv], backend=backend, exchange=exchange, start_method="fork")
    pool.reset()
    workers = pool._workers
    del pool
    gc.collect()
    assert not any(member.alive for member in workers.members)


def test_a_pool_in_a_cycle_whose_channels_were_closed_first_is_collected(backend, exchange):
    options = {"backend": backend, "exchange": exchange, "shutdown_timeout": FAR_S}
    pool = AsyncEnvPool([ProbeEnv], start_method="fork", **options)
    pool.reset()
    workers = pool._workers
    pool.itself = [pool]
    for end in pool.channels()["results"]:
        channel.close(end)
    collector = threading.Thread(target=gc.collect)  # noqa: TID251 - joined below
    del pool
    with EndsInTime():
        collector.start()
        collector.join()
    assert not any(member.alive for member in workers.members)


LEAVES = """
from tests.unit.reference_impl.pool.envs import ProbeEnv
from reference_impl.pool import AsyncEnvPool
if __name__ == "__main__":
    pool = AsyncEnvPool([ProbeEnv], backend={backend!r}, exchange={exchange!r}, start_method="fork")
    pool.reset()
    print(*pool.worker_pids, flush=True)
    {ending}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "code"),
    [("pass", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)],
    ids=["returns", "exits", "is killed"],
)
def test_an_interpreter_that_leaves_without_closing_takes_its_workers_along(
    tmp_path, backend, exchange, ending, code
):
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES.format(backend=backend, exchange=exchange, ending=ending))
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (code, "")
    for pid in map(int, ran.stdout.split()):
        _await_end(pid)


def _await_end(pid: int) -> None:
    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            process.wait(PATIENCE_S)
    except psutil.NoSuchProcess:
        return


def test_errors_travel_between_processes():
    error = WorkerError(1, "step", "LookupError: x", "Traceback")
    died = WorkerDied(2, "reset", -9, "")
    for one in (error, died):
        copy = pickle.loads(pickle.dumps(one))
        assert (type(copy), str(copy), copy.worker) == (type(one), str(one), one.worker)


def test_a_deadline_of_zero_looks_once(make_pool):
    pool = make_pool(Behaviour())
    pool.async_step_send(act(pool.reset()))
    assert answered(pool, 0)
    assert list(pool.async_step_recv(timeout=0.0)["env_index"]) == [0]

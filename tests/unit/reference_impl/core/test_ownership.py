"""Workers belong to their owner: they ignore its signals and end with it."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import signal
import sys
import threading

import pytest

from reference_impl.core import channel, ownership
from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import START_METHODS, start_process, start_thread
from tests.patience import PATIENCE_S
from tests.stopping import stop

SOON = PATIENCE_S


def answer_pid(end):
    channel.send(end, os.getpid())
    channel.recv(end)


def hold(end):
    channel.send(end, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
    channel.recv(end)


def leave(code):
    os._exit(code)


@pytest.fixture
def owned():
    """Return a starter of processes whose target takes the worker's end; all are ended afterwards."""
    started = []

    def start(target, start_method="fork"):
        ours, theirs = channel.pair("process")
        process = start_process(target, (theirs,), name="worker", start_method=start_method)
        channel.abandon(theirs)
        started.append((process, ours))
        return process, ours

    yield start
    for process, ours in started:
        channel.close(ours)
        process.kill()
        process.join(Deadline.after(SOON))
        process.release()


def test_a_process_has_a_pid_and_lives_until_it_returns(owned):
    process, ours = owned(answer_pid)
    assert (channel.recv(ours), process.alive) == (process.pid, True)
    channel.close(ours)
    assert process.join(Deadline.after(SOON))
    assert (process.alive, process.exitcode) == (False, 1)


@pytest.mark.slow
@pytest.mark.parametrize("start_method", [one for one in START_METHODS if one != "fork"])
def test_an_end_reaches_a_process_that_does_not_inherit_it(owned, start_method):
    process, ours = owned(answer_pid, start_method)
    assert channel.recv(ours) == process.pid


def test_the_sentinel_is_ready_when_the_process_is_gone(owned):
    process, ours = owned(answer_pid)
    channel.recv(ours)
    process.kill()
    ready = channel.wait((), (process.sentinel,), Deadline.after(SOON))
    assert ready == {process.sentinel}


def test_a_join_ends_at_its_deadline(owned):
    process, ours = owned(answer_pid)
    channel.recv(ours)
    deadline = Deadline.after(0.05)
    assert not process.join(deadline)
    assert deadline.expired


def test_an_interrupt_is_the_owners_to_decide(owned):
    process, ours = owned(answer_pid)
    channel.recv(ours)
    os.kill(process.pid, signal.SIGINT)
    assert not process.join(Deadline.after(0.1))


def test_a_handler_of_the_owner_does_not_keep_its_worker_from_terminating(owned):
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        process, ours = owned(hold)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert channel.recv(ours) is True
    process.terminate()
    assert process.join(Deadline.after(SOON))


def test_a_stopped_process_can_be_killed(owned):
    process, ours = owned(answer_pid)
    channel.recv(ours)
    stop(process.pid)
    os.waitpid(process.pid, os.WUNTRACED)  # now it is stopped, no sooner
    process.kill()
    assert process.join(Deadline.after(SOON))


def test_the_exit_code_is_kept_after_the_release():
    process = start_process(leave, (5,), name="worker", start_method="fork")
    process.join(Deadline.after(SOON))
    process.release()
    assert (process.exitcode, process.alive, process.join(Deadline.after(0.0))) == (5, False, True)


def test_a_process_that_runs_is_not_released(owned):
    process, ours = owned(answer_pid)
    channel.recv(ours)
    process.release()
    assert process.alive


def test_an_unknown_start_method_is_refused():
    with pytest.raises(ValueError, match=r"start_method .*vfork"):
        start_process(leave, (0,), name="worker", start_method="vfork")  # type: ignore[arg-type]  # what is tested


def test_a_fork_server_imports_what_its_workers_run_and_what_its_owner_has(monkeypatch):
    named: list[str] = []
    monkeypatch.setattr(ownership, "_forkserver_prepared", False)
    monkeypatch.setattr(multiprocessing, "set_forkserver_preload", named.extend)
    monkeypatch.setitem(sys.modules, "gymnasium", sys)
    monkeypatch.delitem(sys.modules, "tensordict", raising=False)
    with pytest.raises(TypeError):  # a lock cannot be pickled: nothing is started
        start_process(leave, (threading.Lock(),), name="worker", start_method="forkserver")
    assert {"gymnasium", __name__} <= set(named)
    assert "tensordict" not in named


@pytest.mark.parametrize("start_method", ["fork", "forkserver"])
def test_what_prepares_workers_is_imported_where_they_are_forked_from(monkeypatch, start_method):
    named: list[str] = []
    monkeypatch.setattr(ownership, "_forkserver_prepared", False)
    monkeypatch.setattr(multiprocessing, "set_forkserver_preload", named.extend)
    monkeypatch.setattr(importlib, "import_module", named.append)
    monkeypatch.setattr(ownership, "_have_room_for_pipes", lambda: 1 / 0)  # nothing is started
    with pytest.raises(ZeroDivisionError):
        start_process(leave, (3,), name="worker", start_method=start_method, prepared_by="json")
    assert "json" in named


def test_a_thread_is_joined_up_to_the_deadline():
    held = threading.Event()
    thread = start_thread(held.wait, (), name="worker")
    assert not thread.join(Deadline.after(0.05))
    held.set()
    assert thread.join(Deadline.after(SOON))
    assert not thread.alive


def test_a_start_for_which_there_are_no_descriptors_takes_none():
    before = sorted(os.listdir("/proc/self/fd"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = 3  # room for the first of the two pipes that a start makes
    resource.setrlimit(resource.RLIMIT_NOFILE, (_limit_after(spare), hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            start_process(leave, (0,), name="worker", start_method="fork")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(os.listdir("/proc/self/fd")) == before


def _limit_after(spare: int) -> int:
    """The number that comes after so many free ones."""
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(spare + 1)]
    for fd in taken:
        os.close(fd)
    return max(taken)

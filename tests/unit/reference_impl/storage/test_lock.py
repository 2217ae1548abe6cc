"""The lock of a file: between threads, and when descriptors of the file are closed."""

from __future__ import annotations

import fcntl
import os

import pytest

from reference_impl.core.arena import Arena
from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process, start_thread
from reference_impl.storage.errors import RingBusy
from reference_impl.storage.lock import ProcessLock


@pytest.fixture
def arena():
    made = Arena(name="test")
    yield made
    made.release()


def others_find_it_held(fd: int) -> bool:
    """Return what another process finds."""
    process = start_process(try_it, (fd,), name="other", start_method="fork")
    assert process.join(Deadline.after(60.0))
    code = process.exitcode
    process.release()
    return code == 3


def try_it(fd):
    try:
        ProcessLock(fd).take(Deadline.after(0.0))
    except RingBusy:
        os._exit(3)
    os._exit(0)


def test_while_it_is_held_others_do_not_get_it(arena):
    lock = ProcessLock(arena.fileno())
    with lock.held(Deadline.after(1.0)):
        assert others_find_it_held(arena.fileno())
    assert not others_find_it_held(arena.fileno())


def test_an_interrupt_while_it_is_taken_does_not_keep_it(arena, monkeypatch):
    lock, taking = ProcessLock(arena.fileno()), fcntl.lockf

    def interrupted(*arguments):
        monkeypatch.undo()
        taking(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(fcntl, "lockf", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lock.take(Deadline.after(1.0))
    assert not others_find_it_held(arena.fileno())


def test_two_locks_on_one_file_are_one_between_threads(arena):
    one, other = ProcessLock(arena.fileno()), ProcessLock(arena.fileno())
    failed = []

    def attempt():
        try:
            other.take(Deadline.after(0.05))
        except RingBusy as error:
            failed.append(str(error))

    with one.held(Deadline.after(1.0)):
        thread = start_thread(attempt, (), name="other")
        assert thread.join(Deadline.after(60.0))
    assert failed == ["another thread of this process holds the ring"]


def test_a_descriptor_that_is_closed_meanwhile_does_not_give_it_back(arena):
    lock, copy = ProcessLock(arena.fileno()), os.dup(arena.fileno())
    close = lock.closing()
    with lock.held(Deadline.after(1.0)):
        close(lambda: os.close(copy))
        os.fstat(copy)  # still open
        assert others_find_it_held(arena.fileno())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(copy)


def test_nor_does_one_that_is_closed_when_the_lock_of_another_file_is_given_back(arena):
    lock, copy = ProcessLock(arena.fileno()), os.dup(arena.fileno())
    other = Arena(name="other")
    with lock.held(Deadline.after(1.0)):
        lock.closing()(lambda: os.close(copy))
        with ProcessLock(other.fileno()).held(Deadline.after(1.0)):
            pass
        assert others_find_it_held(arena.fileno())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(copy)
    other.release()


def test_what_nobody_holds_is_closed_at_once(arena):
    lock, copy = ProcessLock(arena.fileno()), os.dup(arena.fileno())
    lock.closing()(lambda: os.close(copy))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(copy)

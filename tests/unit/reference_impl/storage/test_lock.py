"""The lock of a file: between threads, and when descriptors of the file are closed."""

from __future__ import annotations

import itertools
import os

import pytest

from reference_impl.core.arena import Arena
from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process, start_thread
from reference_impl.storage.errors import RingBusy
from reference_impl.storage.lock import ProcessLock
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.interrupts import interrupted_at
from tests.unit.reference_impl.storage.locks import held


@pytest.fixture
def arena():
    made = Arena(name="test")
    yield made
    made.release()


def others_find_it_held(fd: int) -> bool:
    """Return what another process finds."""
    process = start_process(try_it, (fd,), name="other", start_method="fork")
    assert process.join(Deadline.after(PATIENCE_S))
    code = process.exitcode
    process.release()
    return code == 3


def try_it(fd):
    try:
        ProcessLock(fd).run(Deadline.after(0.0), lambda: None)
    except RingBusy:
        os._exit(3)
    os._exit(0)


def test_while_it_is_held_others_do_not_get_it(arena):
    lock = ProcessLock(arena.fileno())
    with held(lock):
        assert others_find_it_held(arena.fileno())
    assert not others_find_it_held(arena.fileno())


def test_an_interrupt_at_any_point_does_not_keep_it(arena):
    lock, called = ProcessLock(arena.fileno()), []
    for point in itertools.count():
        interrupted = interrupted_at(point, lock.run, Deadline.after(1.0), lambda: called.append(1))
        assert lock.run(Deadline.after(0.0), lambda: 7) == 7
        thread = start_thread(
            lock.run, (Deadline.after(0.0), lambda: called.append(2)), name="other"
        )
        assert thread.join(Deadline.after(PATIENCE_S))
        assert called.pop() == 2
        if not interrupted:
            break
    assert point > 8
    assert not others_find_it_held(arena.fileno())


def test_what_interrupts_its_holder_does_not_get_it_too(arena):
    lock = ProcessLock(arena.fileno())

    def inside():
        with pytest.raises(RingBusy, match="this thread"):
            lock.run(Deadline.after(1.0), lambda: None)
        lock.closing()(lambda: os.close(copy))
        os.fstat(copy)  # still open
        return others_find_it_held(arena.fileno())

    copy = os.dup(arena.fileno())
    assert lock.run(Deadline.after(1.0), inside)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(copy)


def test_two_locks_on_one_file_are_one_between_threads(arena):
    one, other = ProcessLock(arena.fileno()), ProcessLock(arena.fileno())
    failed = []

    def attempt():
        try:
            other.run(Deadline.after(0.05), lambda: None)
        except RingBusy as error:
            failed.append(str(error))

    with held(one):
        thread = start_thread(attempt, (), name="other")
        assert thread.join(Deadline.after(PATIENCE_S))
    assert failed == ["another thread of this process holds the ring"]


def test_a_descriptor_that_is_closed_meanwhile_does_not_give_it_back(arena):
    lock, copy = ProcessLock(arena.fileno()), os.dup(arena.fileno())
    close = lock.closing()
    with held(lock):
        close(lambda: os.close(copy))
        os.fstat(copy)  # still open
        assert others_find_it_held(arena.fileno())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(copy)


def test_nor_does_one_that_is_closed_when_the_lock_of_another_file_is_given_back(arena):
    lock, copy = ProcessLock(arena.fileno()), os.dup(arena.fileno())
    other = Arena(name="other")
    with held(lock):
        lock.closing()(lambda: os.close(copy))
        with held(ProcessLock(other.fileno())):
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

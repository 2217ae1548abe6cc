"""A call in a second thread is waited for, and its error is the caller's."""

from __future__ import annotations

import logging
import queue
import threading
from logging.handlers import QueueHandler

import pytest

from harness.engine.aside import Busy, in_second_thread, repeated_beside
from harness.ports.clock import Deadline
from tests.patience import PATIENCE_S

LONG_S = 0.1  # longer than it takes to return without waiting


def test_it_runs_in_another_thread_and_has_ended_when_it_returns():
    ran: list[int] = []

    def run():
        threading.Event().wait(LONG_S)
        ran.append(threading.get_ident())

    in_second_thread(run)
    assert len(ran) == 1
    assert ran != [threading.get_ident()]


def test_what_it_raises_is_raised():
    def fail():
        raise KeyError("there")

    with pytest.raises(KeyError, match="there"):
        in_second_thread(fail)


def test_it_is_repeated_in_another_thread_until_the_block_ends():
    ran: list[int] = []
    often = threading.Event()

    def run():
        ran.append(threading.get_ident())
        if len(ran) > 2:
            often.set()

    with repeated_beside(run):
        assert often.wait(PATIENCE_S)
    count = len(ran)
    assert set(ran) != {threading.get_ident()}
    assert len(ran) == count


def test_what_is_repeated_raises_where_the_block_ends():
    failed = threading.Event()

    def fail():
        failed.set()
        raise KeyError("there")

    with pytest.raises(KeyError, match="there"), repeated_beside(fail):
        assert failed.wait(PATIENCE_S)


def test_a_thread_that_logs_holds_the_lock_of_the_log_until_it_is_told_to_end():
    busy = Busy()
    (handler,) = (h for h in logging.getLogger().handlers if isinstance(h, QueueHandler))
    assert isinstance(handler.queue, queue.Queue)
    lock = handler.queue.mutex
    deadline = Deadline.after(PATIENCE_S)
    while not (held := lock.locked()) and not deadline.expired:
        pass
    assert held
    busy.end()
    assert not lock.locked()
    assert handler not in logging.getLogger().handlers

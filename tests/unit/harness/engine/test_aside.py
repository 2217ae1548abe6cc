"""A call in a second thread is waited for, and its error is the caller's."""

from __future__ import annotations

import threading

import pytest

from harness.engine.aside import in_second_thread

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

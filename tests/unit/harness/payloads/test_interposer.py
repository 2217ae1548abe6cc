"""An interposer acts at the k-th completed transfer of the channel it was told of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from harness.payloads.interposer import MULTIPROCESSING, Interposer
from harness.ports.backend import Hook


@pytest.fixture
def interposer(monkeypatch: pytest.MonkeyPatch) -> Interposer:
    for name in ("_send_bytes", "_recv_bytes"):
        monkeypatch.setattr(Connection, name, getattr(Connection, name))
    found = Interposer()
    found.install(MULTIPROCESSING)
    return found


@pytest.fixture
def pipe() -> Iterator[tuple[Connection, Connection]]:
    ours, theirs = Pipe()
    yield ours, theirs
    ours.close()
    theirs.close()


def test_it_acts_at_the_kth_get_and_once(interposer: Interposer, pipe):
    ours, theirs = pipe
    seen: list[str] = []
    interposer.trap([ours.fileno()], "get", 2, lambda: seen.append("acted"))
    for item in range(4):
        theirs.send(item)
        seen.append(str(ours.recv()))
    assert seen == ["0", "acted", "1", "2", "3"]


def test_an_empty_poll_is_no_transfer(interposer: Interposer, pipe):
    ours, theirs = pipe
    seen: list[str] = []
    interposer.trap([ours.fileno()], "get", 1, lambda: seen.append("acted"))
    assert not ours.poll()
    theirs.send(1)
    assert ours.poll()
    assert seen == []


def test_other_channels_are_left_out(interposer: Interposer, pipe):
    ours, _ = pipe
    seen: list[str] = []
    interposer.trap([ours.fileno()], "get", 1, lambda: seen.append("acted"))
    other, end = Pipe()
    with other, end:
        end.send(1)
        other.recv()
    assert seen == []


def test_a_doorbell_is_refused(interposer: Interposer):
    bell = os.eventfd(0)
    with os.fdopen(bell), pytest.raises(ValueError, match="neither a pipe nor a socket"):
        interposer.trap([bell], "get", 1, print)


def test_a_hook_that_names_nothing_is_an_error():
    with pytest.raises(ImportError, match="no_such_function"):
        Interposer().install([Hook(target="os:no_such_function", transfer="get")])

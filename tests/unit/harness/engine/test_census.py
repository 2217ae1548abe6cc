"""What is counted is not the harness's own; and who has ended already is struck by nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from harness.engine import census
from harness.ports.clock import Deadline
from tests.patience import PATIENCE_S

STRIKES = (census.kill, census.freeze)


@pytest.fixture
def child():
    """A process that waits for the end of its standard input."""
    made = subprocess.Popen(  # noqa: TID251 - it is ended below
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with made:
        assert made.stdout is not None
        made.stdout.readline()
        yield made
        made.kill()


def end(child, *, reap: bool) -> None:
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
    if reap:
        child.wait()


def test_names_in_shared_memory_are_those_that_are_not_the_harness_own(tmp_path, monkeypatch):
    monkeypatch.setattr(census, "SHM", tmp_path)
    for name in ("harness-filler", "harness-storage-x", "psm_1"):
        (tmp_path / name).touch()
    assert census.shared_memory() == ["psm_1"]


def test_who_is_alive_is_killed(child):
    assert census.kill(child.pid, Deadline.after(PATIENCE_S))
    assert child.wait() == -signal.SIGKILL


def test_who_is_alive_is_stopped(child):
    assert census.freeze(child.pid, Deadline.after(PATIENCE_S))
    assert census.state(child.pid) == "T"


@pytest.mark.parametrize("strike", STRIKES, ids=lambda strike: strike.__name__)
@pytest.mark.parametrize("reap", [True, False], ids=["reaped", "zombie"])
def test_who_has_ended_is_struck_by_nobody(child, strike, reap):
    end(child, reap=reap)
    deadline = Deadline.after(PATIENCE_S)
    assert not strike(child.pid, deadline)
    assert not deadline.expired  # nobody waited for what cannot come

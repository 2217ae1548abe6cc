"""The census sees each kind of thing that a test may leave, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
import weakref
from pathlib import Path

import pytest

from tests import leftovers

ROOT = Path(__file__).parents[2]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch):
    """Give what is left one tick to go instead of seconds."""
    monkeypatch.setattr(leftovers, "POLLS_MAX", 1)


@pytest.fixture
def sleeper():
    """Start a process that runs until its stdin closes."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # noqa: TID251 - the leftover
        yield process


@pytest.mark.usefixtures("impatient")
def test_a_running_thread_is_seen():
    before, end = leftovers.census(), threading.Event()
    thread = threading.Thread(target=end.wait, name="stray")  # noqa: TID251 - the leftover
    thread.start()
    left = leftovers.left_since(before)
    end.set()
    thread.join()
    assert "thread 'stray'" in left


@pytest.mark.usefixtures("impatient")
def test_a_child_process_is_seen(request):
    before = leftovers.census()
    process = request.getfixturevalue("sleeper")
    children = [name for name in leftovers.left_since(before) if name.startswith("child")]
    assert [str(process.pid) in name for name in children] == [True]


@pytest.mark.usefixtures("impatient")
def test_a_child_process_that_nobody_waited_for_is_seen(sleeper):
    before = leftovers.Census(threads={}, children={}, fds=leftovers.census().fds, shm={})
    sleeper.stdin.close()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert f"child {sleeper.pid} (ended, nobody waited for it)" in leftovers.left_since(before)


@pytest.mark.usefixtures("impatient")
def test_an_open_descriptor_is_seen():
    before = leftovers.census()
    descriptor = os.open(os.devnull, os.O_RDONLY)
    left = leftovers.left_since(before)
    os.close(descriptor)
    assert f"fd {descriptor} ({os.devnull})" in left


@pytest.mark.usefixtures("impatient")
def test_a_name_in_shared_memory_is_seen():
    before, path = leftovers.census(), leftovers.SHARED_MEMORY / f"stray-{uuid.uuid4().hex}"
    path.touch()
    left = leftovers.left_since(before)
    path.unlink()
    assert str(path) in left


@pytest.mark.usefixtures("impatient")
def test_a_name_in_shared_memory_that_another_process_holds_is_not_ours(monkeypatch):
    path = leftovers.SHARED_MEMORY / f"held-{uuid.uuid4().hex}"
    before = leftovers.census()
    path.touch()
    monkeypatch.setattr(leftovers, "_opened", lambda pid: {str(path)} if pid == 1 else set())
    left = leftovers.left_since(before)
    path.unlink()
    assert str(path) not in left


def test_what_a_process_has_open_and_maps_is_seen():
    path = leftovers.SHARED_MEMORY / f"open-{uuid.uuid4().hex}"
    with path.open("wb+") as opened:
        opened.truncate(1)
        path.unlink()
        held = leftovers._opened(os.getpid())
    assert f"{path} (deleted)" in held


def test_what_goes_within_the_grace_is_not_left():
    before, end = leftovers.census(), threading.Event()
    thread = threading.Thread(target=end.wait, args=(0.1,))  # noqa: TID251 - the leftover
    thread.start()
    left = leftovers.left_since(before)
    thread.join()
    assert left == []


def test_what_only_waits_for_the_garbage_collector_is_not_left():
    before = leftovers.census()
    gate = threading.Event()
    weakref.finalize(gate, os.close, os.open(os.devnull, os.O_RDONLY))
    vars(gate)["itself"] = gate
    del gate
    assert leftovers.left_since(before) == []

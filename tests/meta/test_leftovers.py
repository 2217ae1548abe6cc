"""The census sees each kind of thing that a test may leave, and nothing else."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import threading
import uuid
import weakref
from pathlib import Path

import pytest

from tests import leftovers

MAKES_A_SEMAPHORE = """
import multiprocessing, sys
lock = multiprocessing.get_context("spawn").Lock()
print("sem." + lock._semlock.name.lstrip("/"), flush=True)
sys.stdin.read()
"""

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
    inode = path.stat().st_ino
    monkeypatch.setattr(leftovers, "_opened", lambda pid: {inode} if pid == 1 else set())
    left = leftovers.left_since(before)
    path.unlink()
    assert str(path) not in left


def test_what_another_process_held_and_left_a_moment_ago_is_not_ours(monkeypatch):
    monkeypatch.setattr(leftovers, "POLLS_MAX", 2)
    held, stray = (leftovers.SHARED_MEMORY / f"{uuid.uuid4().hex}" for _ in range(2))
    before = leftovers.census()
    held.touch()
    stray.touch()
    looks = iter([{held.stat().st_ino}])
    monkeypatch.setattr(leftovers, "_opened", lambda pid: next(looks, set()) if pid == 1 else set())
    left = leftovers.left_since(before)
    held.unlink()
    stray.unlink()
    assert str(held) not in left
    assert str(stray) in left


@pytest.mark.parametrize("how", ["open", "mapped"])
def test_what_a_process_holds_is_seen_whatever_it_was_called(how):
    path = leftovers.SHARED_MEMORY / f"made-{uuid.uuid4().hex}"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    os.truncate(descriptor, 1)
    name = path.rename(path.with_name(f"named-{path.name}"))
    inode = name.stat().st_ino
    with mmap.mmap(descriptor, 1):
        held = leftovers._opened(os.getpid()) if how == "open" else set()
        os.close(descriptor)
        held = held or leftovers._opened(os.getpid())
    name.unlink()
    assert inode in held
    assert inode not in leftovers._opened(os.getpid())


def test_a_semaphore_of_another_process_is_not_ours():
    before = leftovers.census()
    command = [sys.executable, "-c", MAKES_A_SEMAPHORE]
    with subprocess.Popen(  # noqa: TID251 - the other process
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        name = f"{leftovers.SHARED_MEMORY}/{other.stdout.readline().decode().strip()}"
        ours = leftovers._held_by_others({name})
        theirs = leftovers._opened(other.pid)
        inode = os.stat(name).st_ino
        other.stdin.close()
    assert ours == set()  # a child's is
    assert inode in theirs
    assert leftovers.left_since(before) == []


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

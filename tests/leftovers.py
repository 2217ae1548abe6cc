"""What a test may leave behind: threads, child processes, file descriptors, shared memory."""

from __future__ import annotations

import gc
import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

SHARED_MEMORY = Path("/dev/shm")
POLL_S = 0.02
# 3 s: what a killed process needs to be reaped on a loaded machine of two cores.
POLLS_MAX = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """What exists at one moment, as readable names by identity."""

    threads: dict[int, str]
    children: dict[tuple[int, float], str]
    fds: dict[tuple[int, str], str]
    shm: dict[str, str]

    def beyond(self, before: Census) -> list[str]:
        """Names of what is here and was not there before."""
        return [
            *(f"thread {self.threads[key]}" for key in self.threads.keys() - before.threads.keys()),
            *(
                f"child {self.children[key]}"
                for key in self.children.keys() - before.children.keys()
            ),
            *(f"fd {self.fds[key]}" for key in self.fds.keys() - before.fds.keys()),
            *(f"/dev/shm/{self.shm[key]}" for key in self.shm.keys() - before.shm.keys()),
        ]


def census() -> Census:
    """Count, without the helpers that live as long as this process."""
    return Census(
        threads={
            id(thread): repr(thread.name)
            for thread in threading.enumerate()
            # A dummy is a thread of somebody's C code (torch's backward) that once ran Python.
            if not isinstance(thread, threading._DummyThread)
        },
        children=_children(),
        fds=_fds(),
        shm={name: name for name in _own_shm_names()},
    )


def left_since(before: Census) -> list[str]:
    """Names of what has come since and does not go within the grace, else an empty list.

    Memory and descriptors that wait only for the garbage collector are not left behind.
    """
    if not census().beyond(before):
        return []
    gc.collect()
    pause = threading.Event()
    left, theirs = set[str](), set[str]()
    for _ in range(POLLS_MAX):
        left = set(census().beyond(before))
        theirs |= _held_by_others(left)
        if left <= theirs:
            return []
        pause.wait(POLL_S)
    return sorted(left - theirs)


def _children() -> dict[tuple[int, float], str]:
    helpers = {
        getattr(multiprocessing.resource_tracker._resource_tracker, "_pid", None),
        getattr(multiprocessing.forkserver._forkserver, "_forkserver_pid", None),
    }
    found = {}
    for child in psutil.Process().children(recursive=True):
        if child.pid in helpers:
            continue
        try:
            command = " ".join(child.cmdline())[:80]
        except psutil.ZombieProcess:
            command = "ended, nobody waited for it"
        except psutil.NoSuchProcess:
            continue  # went while we looked
        found[child.pid, child.create_time()] = f"{child.pid} ({command})"
    return found


def _fds() -> dict[tuple[int, str], str]:
    helpers = {
        getattr(multiprocessing.resource_tracker._resource_tracker, "_fd", None),
        getattr(multiprocessing.forkserver._forkserver, "_forkserver_alive_fd", None),
    }
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one that listed the folder
        if int(name) not in helpers:
            found[int(name), target] = f"{name} ({target})"
    return found


def _own_shm_names() -> list[str]:
    names = []
    for entry in os.scandir(SHARED_MEMORY):
        try:
            if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                names.append(entry.name)
        except FileNotFoundError:
            pass  # removed while we looked
    return names


def _held_by_others(left: set[str]) -> set[str]:
    """Names in /dev/shm of what a process outside our tree maps or has open, or has just removed.

    A semaphore of the C library is mapped under the temporary name that it was made with: the
    inode tells which it is.
    """
    names = {name for name in left if name.startswith(f"{SHARED_MEMORY}/")}
    if not names:
        return set()
    me = psutil.Process()
    ours = {me.pid, *(child.pid for child in me.children(recursive=True))}
    theirs = {inode for pid in psutil.pids() if pid not in ours for inode in _opened(pid)}
    found = set()
    for name in names:
        try:
            inode = os.stat(name, follow_symlinks=False).st_ino
        except FileNotFoundError:
            inode = None
        if inode is None or inode in theirs:
            found.add(name)
    return found


def _opened(pid: int) -> set[int]:
    """Inodes in /dev/shm that a process maps or has open; none if it ended or may not be looked at."""
    folder, device = Path("/proc", str(pid)), SHARED_MEMORY.stat().st_dev
    found = set()
    with suppress(OSError):
        for line in (folder / "maps").read_text(errors="replace").splitlines():
            if f" {SHARED_MEMORY}/" in line:
                found.add(int(line.split()[4]))
    with suppress(OSError):
        for link in (folder / "fd").iterdir():
            with suppress(FileNotFoundError):  # closed while we looked
                status = link.stat()
                if status.st_dev == device:
                    found.add(status.st_ino)
    return found

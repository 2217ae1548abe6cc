"""What a process holds: descriptors, threads, children, shared memory, temporary files."""

from __future__ import annotations

import multiprocessing.forkserver
import multiprocessing.heap
import multiprocessing.resource_sharer
import multiprocessing.resource_tracker
import os
import re
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.engine import temporary
from harness.ports.clock import Deadline, pause

SHM = Path("/dev/shm")
FILLER = f"{temporary.OWN}filler"  # in /dev/shm, where a fault leaves no room: no backend's


def take(own_fds: Iterable[int] = (), *, own_shm: bool = True) -> dict[str, Any]:
    """Count what this process holds.

    The resource tracker, the fork server and the resource sharer are one each for the whole
    interpreter, started on first use and not a pool's to end: they are left out.

    Args:
        own_fds: the harness's own descriptors.
        own_shm: names in /dev/shm can only be ours; else they say nothing, and are left out.

    Returns:
        `fds` by what they point to, names of `threads`, `children` with pid and name, names in `shm`
        (named semaphores among them), `mappings` of memory that is shared by what they map, and names
        of temporary `files`.
    """
    helpers, helper_fds = _process_wide_helpers()
    sharer, sharer_fds = _resource_sharer()
    return {
        "fds": dict(Counter(_targets(helper_fds | sharer_fds | set(own_fds)))),
        "threads": sorted(t.name for t in threading.enumerate() if t is not sharer),
        "children": [
            {"pid": pid, "name": command(pid)}
            for pid in children(os.getpid())
            if pid not in helpers
        ],
        "shm": shared_memory() if own_shm else [],
        "mappings": dict(Counter(_shared_mappings())),
        "files": temporary.names(Path(tempfile.gettempdir())),
    }


def shared_memory() -> list[str]:
    """Names in /dev/shm that are not the harness's own, none where there is no such place."""
    try:
        return sorted(name for name in os.listdir(SHM) if not name.startswith(temporary.OWN))
    except OSError:
        return []


def _shared_mappings() -> list[str]:
    """What each mapping of this process maps that others can write to as well."""
    cached = _cached_arenas()
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return []
    parts = (line.split(maxsplit=5) for line in lines)
    shared = (part for part in parts if part[1][1] == "w" and part[1][3] == "s")
    targets = (part[5] if len(part) > 5 else "without a name" for part in shared)
    return [target for target in targets if target not in cached]


def children(pid: int) -> list[int]:
    """Child processes that are not zombies."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, path.read_text().split())
        except OSError:
            continue  # the thread has just ended
    return [child for child in found if is_alive(child)]


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on; parents before their children."""
    found: list[int] = []
    queue = [pid]
    while queue:
        queue = [child for parent in queue for child in children(parent)]
        found += queue
    return found


def state(pid: int) -> str:
    """The process's state letter (`man 5 proc`), empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    return state(pid) not in ("Z", "X", "")


def parent(pid: int) -> int:
    """Its parent's pid, 0 if there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def command(pid: int) -> str:
    """Its command line, shortened."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "?"
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()[:120]


def _process_wide_helpers() -> tuple[set[int], set[int]]:
    """Pids and descriptors of the resource tracker and the fork server, if they run."""
    tracker = multiprocessing.resource_tracker._resource_tracker  # noqa: SLF001 - no public way
    server = multiprocessing.forkserver._forkserver  # noqa: SLF001 - no public way
    pids = (getattr(tracker, "_pid", None), getattr(server, "_forkserver_pid", None))
    fds = (getattr(tracker, "_fd", None), getattr(server, "_forkserver_alive_fd", None))
    return {p for p in pids if p is not None}, {f for f in fds if f is not None}


def _resource_sharer() -> tuple[object, set[int]]:
    """The thread that hands descriptors to other processes, and its listening socket."""
    sharer = getattr(multiprocessing.resource_sharer, "_resource_sharer", None)
    listener = getattr(getattr(sharer, "_listener", None), "_listener", None)
    listening = getattr(listener, "_socket", None)
    return getattr(sharer, "_thread", None), set() if listening is None else {listening.fileno()}


def _cached_arenas() -> set[str]:
    """Arenas of the standard library's shared heap in which nothing is allocated: it keeps them."""
    heap = getattr(multiprocessing.heap.BufferWrapper, "_heap")  # noqa: B009 - no public way
    free = (each for each in heap._arenas if not heap._allocated_blocks.get(each))  # noqa: SLF001 - as above
    return {os.readlink(f"/proc/self/fd/{arena.fd}") for arena in free if arena.fd >= 0}


def _targets(excluded: set[int]) -> list[str]:
    """What each descriptor points to, with the numbers of pipes and sockets taken out."""
    cached = _cached_arenas()
    found = []
    for name in os.listdir("/proc/self/fd"):
        if int(name) in excluded:
            continue
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the listing's own descriptor
        if target in cached:
            continue
        found.append(re.sub(r":\[\d+\]$", "", target))
    return found


def freeze(pid: int, deadline: Deadline) -> bool:
    """Stop a process, and wait until it is stopped; whether it is: who has ended cannot be."""
    if not _sent(pid, signal.SIGSTOP):
        return False
    while not (stopped := state(pid) in ("T", "t")) and is_alive(pid) and not deadline.expired:
        pause(0.001)
    return stopped


def kill(pid: int, deadline: Deadline) -> bool:
    """Kill a process, and wait until it is gone; whether that is our doing: who has ended is not killed."""
    if not _sent(pid, signal.SIGKILL):
        return False
    while (alive := is_alive(pid)) and not deadline.expired:
        pause(0.001)
    return not alive


def _sent(pid: int, number: int) -> bool:
    """Send a signal to a process; whether there was one that it could reach: a zombie is none."""
    if not is_alive(pid):
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False  # it was reaped between the look and the signal
    return True

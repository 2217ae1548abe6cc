"""Makes the operating system's resources scarce for the process it runs in, and plentiful again."""

from __future__ import annotations

import errno
import mmap
import os
import resource
from collections.abc import Callable
from pathlib import Path

from harness.engine import census, linux, temporary

PAGE = 4096
MIB = 1 << 20


class Shortages:
    """What is scarce in this process now, by the fault that made it so; each is recorded.

    Args:
        record: journals one of a fault's records.
        own_shm: /dev/shm is this cell's alone, so that it may be filled.
    """

    def __init__(self, record: Callable[..., None], *, own_shm: bool) -> None:
        self._record = record
        self._own_shm = own_shm
        self._undo: dict[str, Callable[[], None]] = {}

    def limit(self, fault: str, resource: str, spare: int) -> None:
        """Lower a limit."""
        seen, self._undo[fault] = _limit(resource, spare)
        self._struck(fault, seen)

    def fill_shared_memory(self, fault: str) -> None:
        """Leave no room in /dev/shm."""
        if self._own_shm:
            seen, self._undo[fault] = _fill_shared_memory()
            self._struck(fault, seen)

    def pin(self, fault: str) -> None:
        """Leave one processor."""
        seen, self._undo[fault] = _pin()
        self._struck(fault, seen)

    def _struck(self, fault: str, seen: str | None) -> None:
        self._record(fault, "reached")
        if seen is not None:
            self._record(fault, "effect", seen)

    def end(self, fault: str) -> None:
        """Give back what a fault has taken, if it still holds it."""
        undo = self._undo.pop(fault, None)
        if undo is not None:
            undo()

    def end_all(self) -> None:
        """Give everything back."""
        for fault in list(self._undo):
            self.end(fault)


def _limit(name: str, spare: int) -> tuple[str | None, Callable[[], None]]:
    """Lower a soft limit to `spare` descriptors, or MiB, above what is in use.

    Returns:
        what was seen when more than that was asked for, None if it was given; what undoes it.
    """
    which = {"nofile": resource.RLIMIT_NOFILE, "as": resource.RLIMIT_AS}[name]
    soft, hard = resource.getrlimit(which)
    if name == "nofile":
        lowered = _lowest_free_after(spare)
    else:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        lowered = pages * os.sysconf("SC_PAGE_SIZE") + spare * MIB
    resource.setrlimit(which, (lowered, hard))
    seen = _descriptors_refused(spare) if name == "nofile" else _mapping_refused(spare)
    return seen, lambda: resource.setrlimit(which, (soft, hard))


def _lowest_free_after(spare: int) -> int:
    """The limit is on numbers, not on how many there are: the number that comes after `spare` free ones."""
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(spare + 1)]
    for fd in taken:
        os.close(fd)
    return max(taken)


def _descriptors_refused(spare: int) -> str | None:
    taken: list[int] = []
    try:
        while len(taken) <= spare:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return f"after {len(taken)} more descriptors: {os.strerror(error.errno or 0)}"
    finally:
        for fd in taken:
            os.close(fd)
    return None


def _mapping_refused(spare: int) -> str | None:
    try:
        mmap.mmap(-1, (spare + 1) * MIB).close()
    except OSError as error:
        return f"for {spare + 1} MiB more: {os.strerror(error.errno or 0)}"
    return None


def _fill_shared_memory() -> tuple[str | None, Callable[[], None]]:
    """Shrink this cell's own /dev/shm to what is in use.

    Returns:
        what was seen when a page was to be written there, None if that is still possible; what undoes it.
    """
    found = os.statvfs(census.SHM)
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    if not linux.resize_shared_memory(max(PAGE, used)):
        return None, lambda: None
    # It cannot be smaller than a page: a file takes that.
    filler = census.SHM / census.FILLER
    if used == 0:
        filler.write_bytes(b"\0" * PAGE)

    def undo() -> None:
        filler.unlink(missing_ok=True)
        linux.resize_shared_memory(found.f_blocks * found.f_frsize)

    return _refusal(census.SHM / f"{temporary.OWN}trial"), undo


def _refusal(trial: Path) -> str | None:
    """What writing a page says, None if it can be written."""
    try:
        trial.write_bytes(b"\0" * PAGE)
    except OSError as error:
        return os.strerror(error.errno or 0) if error.errno == errno.ENOSPC else None
    finally:
        trial.unlink(missing_ok=True)
    return None


def _pin() -> tuple[str | None, Callable[[], None]]:
    """Leave one processor to this process and whoever it starts.

    Returns:
        which one, in words; None if it still has others; what undoes it.
    """
    before = os.sched_getaffinity(0)
    one = {min(before)}
    os.sched_setaffinity(0, one)
    pinned = os.sched_getaffinity(0) == one
    words = f"processor {min(one)} of {len(before)}" if pinned else None
    return words, lambda: os.sched_setaffinity(0, before)

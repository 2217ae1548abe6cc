"""A lock between processes that nobody takes along when he dies.

It is a record lock of the kernel on the first byte of a file: given back when its holder ends,
however that comes, and not inherited by a fork. Such a lock does not keep threads of one process
apart, and is lost when that process closes *any* descriptor of the file; a lock of threads, one a
file, keeps both from happening while it is held.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import struct
import threading
import weakref
from typing import TYPE_CHECKING, Final, TypeVar

from reference_impl.storage.errors import RingBusy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reference_impl.core.clock import Deadline

T = TypeVar("T")

_FLOCK: Final = "hhqqi4x"  # struct flock: type, whence, start, length, pid
_SPINS: Final = 50  # tries of 1 us: who holds it does so for some 10 us, unless he was preempted
_PAUSE_S: Final = 0.00005
# Closings that came while somebody held the lock, each with the file it is of.
_late: Final[list[tuple[tuple[int, int], Callable[[], None]]]] = []
# Each knows the thread that it is held by: an interrupt may come before anybody else could note that.
_turns: weakref.WeakValueDictionary[tuple[int, int], threading.RLock] = (
    weakref.WeakValueDictionary()
)


class ProcessLock:
    """The lock on one file, whose descriptor belongs to somebody else."""

    def __init__(self, fd: int) -> None:
        status = os.fstat(fd)
        self._fd = fd
        self._key = status.st_dev, status.st_ino
        self._pid = -1
        self._turn = threading.RLock()

    def run(self, deadline: Deadline, function: Callable[[], T]) -> T:
        """Call a function while it is held, and return what that returns; it is given back whatever is raised.

        Raises:
            RingBusy: others held it until the deadline, or this thread itself does.
        """

        def inside() -> T:
            try:
                self._take(deadline)
                return function()
            finally:
                # An interrupt is raised after a call, or where a function begins: never between here and there.
                fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, 0)

        return self.alone(deadline, inside)

    def alone(self, deadline: Deadline, function: Callable[[], T]) -> T:
        """Call a function while no thread of this process holds it, so that the file may be opened and closed.

        Raises:
            RingBusy: another thread held it until the deadline, or this one itself does.
        """
        turn = self._in_turn()
        if _is_mine(turn):
            raise RingBusy("this thread holds the ring: what interrupts it cannot have it, too")
        try:
            if not turn.acquire(blocking=False):
                left = deadline.left()
                if not turn.acquire(timeout=-1 if left is None else left):
                    raise RingBusy("another thread of this process holds the ring")
            return function()
        finally:
            try:
                turn.release()  # as above: the first call
            except RuntimeError:
                """It is another's."""
            for _ in range(len(_late)):
                with contextlib.suppress(IndexError):  # another thread took it
                    _close(*_late.pop(0))

    def closing(self) -> Callable[[Callable[[], None]], None]:
        """Return what closes the file by a call that it is given: now, or once nobody holds the lock.

        It does not wait, since it may be called by the garbage collector of who holds it, and does
        not keep this object.
        """
        return functools.partial(_close, self._key)

    def _take(self, deadline: Deadline) -> None:
        tries = 0
        while True:
            try:
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
            except (BlockingIOError, PermissionError):  # what POSIX calls EAGAIN or EACCES
                if deadline.expired:
                    raise RingBusy(f"process {self._holder()} holds the ring") from None
            else:
                return
            tries += 1
            if tries > _SPINS:
                deadline.pause(_PAUSE_S)

    def _in_turn(self) -> threading.RLock:
        pid = os.getpid()
        if self._pid != pid:  # a fork: nobody here holds what a thread of the parent held
            self._turn = _turns.setdefault(self._key, threading.RLock())
            self._pid = pid
        return self._turn

    def _holder(self) -> int:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        told = struct.unpack(_FLOCK, fcntl.fcntl(self._fd, fcntl.F_GETLK, asked))
        return int(told[4])


@contextlib.contextmanager
def looked_at(file: Path) -> Iterator[int]:
    """Give a descriptor of a file that others in this process may have the lock of; they keep it."""
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        close_beside(fd, functools.partial(os.close, fd))


def close_beside(fd: int, close: Callable[[], None]) -> None:
    """Close a descriptor of a file, by this call, whose lock others in this process may hold: they keep it."""
    ProcessLock(fd).closing()(close)


def _close(key: tuple[int, int], close: Callable[[], None]) -> None:
    turn = _turns.get(key)
    if turn is None:
        close()
    elif not _is_mine(turn) and turn.acquire(blocking=False):
        try:
            close()
        finally:
            turn.release()
    else:
        _late.append((key, close))


def _is_mine(turn: threading.RLock) -> bool:
    """Return whether this thread holds it: it might take it once more, in the middle of what it does."""
    # As `threading.Condition` asks it.
    mine: bool = turn._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way
    return mine


os.register_at_fork(after_in_child=_turns.clear)

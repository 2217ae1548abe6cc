"""Room that several processes run cells in: beside each other, or one alone, which is when a run is confirmed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.ports.clock import Deadline, pause

WAIT_S = (
    120.0  # for others, of which each runs one cell; who has waited so long goes on beside them
)
POLL_S = 0.05


class Room:
    """One process's view of it.

    Whoever runs a cell shares the lock `room`, and has it to itself while it is alone. It is reached
    through `door`: who wants to be alone keeps that, so that nobody enters before, and leaves the room
    first, so that two of them do not wait for each other. The system gives locks back when a process ends.

    Args:
        directory: where all have their files; no file has content.
    """

    def __init__(self, directory: Path) -> None:
        self._door, self._room = (
            os.open(directory / name, os.O_RDWR | os.O_CREAT, 0o600) for name in ("door", "room")
        )
        self._until: Deadline | None = None

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be in it, once nobody is, or waits to be, alone."""
        until = Deadline.after(WAIT_S)
        while not (_locked(self._door, fcntl.LOCK_SH) and _locked(self._room, fcntl.LOCK_SH)):
            if until.expired:
                break
            pause(POLL_S)
        _unlock(self._door)
        try:
            yield
        finally:
            self._until = None
            _unlock(self._room)
            _unlock(self._door)

    def alone(self) -> bool:
        """Ask the others to wait; whether they do by now: ask until then."""
        if self._until is None:
            self._until = Deadline.after(WAIT_S)
            _unlock(self._room)
        mine = _locked(self._door, fcntl.LOCK_EX) and _locked(self._room, fcntl.LOCK_EX)
        return mine or self._until.expired

    def close(self) -> None:
        """Leave it for good."""
        for fd in (self._door, self._room):
            os.close(fd)


def _locked(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(fd: int) -> None:
    fcntl.flock(fd, fcntl.LOCK_UN)

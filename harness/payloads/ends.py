"""What tells the ends of channels apart, also in other processes: the pipes and sockets behind them."""

from __future__ import annotations

import multiprocessing.connection
import os
import stat
from collections.abc import Callable
from typing import Any


def name_of(end: Any) -> str:
    """The name of an end: a descriptor, what has a `fileno()`, or an object of this process.

    A pipe has one name at both of its ends and in every process, a socket in every process that holds
    it. Doorbells all share one anonymous inode: who has nothing else is told by its identity.

    Raises:
        ValueError: a bare descriptor leads to neither a pipe nor a socket.
        OSError: it is closed.
    """
    if isinstance(end, int):
        found = _inode(end)
        if found is None:
            raise ValueError(f"transfer_ends: descriptor {end} is neither a pipe nor a socket")
        return found
    try:
        found = _inode(end.fileno())
    except (AttributeError, OSError, ValueError):
        found = None
    return found or f"object:{id(end)}"


def _inode(fd: int) -> str | None:
    status = os.fstat(fd)
    if not stat.S_ISFIFO(status.st_mode) and not stat.S_ISSOCK(status.st_mode):
        return None
    return f"inode:{status.st_dev}:{status.st_ino}"


class Pairs:
    """The other sides of duplex pipes that were made in this process: nothing else tells them."""

    def __init__(self) -> None:
        self._other: dict[str, str] = {}

    def watch(self) -> None:
        """Take note of every pipe that `multiprocessing` makes from now on."""
        original: Callable[..., Any] = multiprocessing.connection.Pipe

        def pipe(duplex: bool = True) -> Any:  # noqa: FBT001, FBT002 - the signature of what it replaces
            one, other = original(duplex)
            names = name_of(one), name_of(other)
            self._other.update(zip(names, reversed(names), strict=True))
            return one, other

        multiprocessing.connection.Pipe = pipe

    def other(self, name: str) -> str:
        """The name of the other side; the same where both sides have one."""
        return self._other.get(name, name)

"""Descriptors that travel to new processes, and are closed once."""

from __future__ import annotations

import os
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    # What pickling a descriptor for a new process gives; multiprocessing does not annotate it.
    Travelling = Any

T = TypeVar("T")


class Descriptor:
    """Owns one; it may be an argument of a new process, where it is made again of a number alone."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[type[Any], Travelling]]:
        return _arrived, (type(self), reduction.DupFd(self._fd))

    def fileno(self) -> int:
        """Return its number, or -1 once it is released."""
        return self._fd

    def release(self) -> None:
        """Close this process's descriptor."""
        # No call comes between the two: an interrupt there would have the number closed twice.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _arrived(kind: Callable[[int], T], fd: Travelling) -> T:
    return kind(fd.detach())

"""Doorbells between processes: one says that there is something to see in shared memory.

What was written to shared memory before `ring` is visible to whoever `take` told of it.
"""

from __future__ import annotations

import os
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable

    # What pickling a descriptor for a new process gives; multiprocessing does not annotate it.
    Travelling = Any

_ONE: Final = (1).to_bytes(8, "little")


@final
class Bell:
    """A descriptor that is readable from `ring` to `take`; it may be an argument of a new process."""

    def __init__(self, fd: int | None = None) -> None:
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if fd is None else fd

    def __reduce__(self) -> tuple[Callable[[Travelling], Bell], tuple[Travelling]]:
        return _arrived, (reduction.DupFd(self._fd),)

    def fileno(self) -> int:
        """Return the descriptor to wait on, or -1 once it is released."""
        return self._fd

    def ring(self) -> None:
        """Wake whoever waits; ringing again before `take` changes nothing."""
        os.write(self._fd, _ONE)

    def take(self) -> bool:
        """Return whether it rang since the last `take`; never waits."""
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Close this process's descriptor."""
        # No call comes between the two: an interrupt there would have the number closed twice.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _arrived(fd: Travelling) -> Bell:
    return Bell(fd.detach())

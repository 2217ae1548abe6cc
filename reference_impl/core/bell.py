"""Doorbells between processes: one says that there is something to see in shared memory.

What was written to shared memory before `ring` is visible to whoever it wakes.
"""

from __future__ import annotations

import os
from typing import Final, final

from reference_impl.core.descriptors import Descriptor

_ONE: Final = (1).to_bytes(8, "little")


@final
class Bell(Descriptor):
    """A descriptor that is readable from `ring` to `take`."""

    def __init__(self, fd: int | None = None) -> None:
        super().__init__(os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if fd is None else fd)

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

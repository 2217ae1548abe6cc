"""A storage's lock, held by a test."""

from __future__ import annotations

import contextlib
import fcntl
from typing import TYPE_CHECKING

from reference_impl.core.clock import Deadline
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_impl.storage.lock import ProcessLock


@contextlib.contextmanager
def held(lock: ProcessLock) -> Iterator[None]:
    """Hold it, as `run` does while it calls a function."""
    with lock._in_turn():
        lock._take(Deadline.after(PATIENCE_S))
        try:
            yield
        finally:
            fcntl.lockf(lock._fd, fcntl.LOCK_UN, 1, 0)
    lock.alone(Deadline.after(PATIENCE_S), lambda: None)  # what was closed meanwhile is closed now

"""A backend whose import leaves a thread that Python's `threading` does not know, as C libraries do."""

from __future__ import annotations

import _thread

from tests.backends.serial import backend

__all__ = ["backend"]

_BUSY = _thread.allocate_lock()
_BUSY.acquire()
_thread.start_new_thread(_BUSY.acquire, ())

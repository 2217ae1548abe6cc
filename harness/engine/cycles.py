"""The backend's object in a reference cycle, and its collection at a chosen moment."""

from __future__ import annotations

import signal
import weakref
from collections.abc import Callable, Sequence

from harness.ports.faults import Closable


class Knot:
    """An object that is part of a cycle, and refers to what is to be collected with it."""

    def __init__(self, subject: object) -> None:
        self.itself = self
        self.subject = subject


class Cycle:
    """What was left in a cycle: the object, and what the cycle's first finalizer closes."""

    def __init__(self, subject: object, closing: Sequence[Closable]) -> None:
        knot = Knot(subject)
        if closing:
            # Weak references of a collection are called before any __del__ in it.
            weakref.finalize(knot, _close_all, tuple(closing)).atexit = False
        self._subject = weakref.ref(subject)
        self._closing = tuple(closing)

    @property
    def gone(self) -> bool:
        """Whether the object has been collected."""
        return self._subject() is None

    @property
    def collected(self) -> bool:
        """Whether it is gone, and all is closed that was to be."""
        return self.gone and all(end.closed for end in self._closing)

    def interrupt_in(self, seconds: float, strike: Callable[[], None]) -> None:
        """Have a signal call `strike` in the main thread, in the middle of whatever runs in `seconds`.

        If somebody else has collected the object by then, nothing happens.
        """

        def interrupt(*_: object) -> None:
            if not self.gone:
                strike()

        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    @staticmethod
    def forget() -> None:
        """Cancel an interruption that has not come."""
        signal.setitimer(signal.ITIMER_REAL, 0)


def _close_all(ends: Sequence[Closable]) -> None:
    for end in ends:
        end.close()

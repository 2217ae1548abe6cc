"""Pools whose processes end in their own time, or by their own hand, and are in order."""

from __future__ import annotations

import os
import signal
from typing import Any

from harness.ports.pool import EnvFactory
from tests.backends import forking, serial


class EndsAtEndOfFile(forking.ForkingPool):
    """A worker ends at the end of its pipe, as soon as its env has come back."""

    def _work(self, index: int, factory: EnvFactory) -> None:
        for other, (owner, mine) in enumerate(self.pipes):
            owner.close()
            if other != index:
                mine.close()
        try:
            super()._work(index, factory)
        except (EOFError, OSError):
            os._exit(0)


class HandlesTermination(serial.SerialPool):
    """SIGTERM closes the pool and ends its process with 143, as many trainers do."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        signal.signal(signal.SIGTERM, self._on_term)

    def _on_term(self, *_: object) -> None:
        self.close()
        os._exit(143)


ends_at_end_of_file = forking.backend_over(EndsAtEndOfFile, "ends_at_end_of_file")
handles_termination = serial.backend_over(HandlesTermination, "handles_termination")

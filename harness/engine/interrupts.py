"""Sees that an interrupt has reached the driver, whatever the backend makes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from types import FrameType

from harness.ports.faults import Fault, Stage


def record_interrupts(faults: Sequence[Fault], stage: Stage) -> None:
    """Record the effect of each fault that interrupts this process, then react as Python does.

    A forked worker inherits the handler, and reacts as Python does too.
    """
    due = [each.id for each in faults if getattr(each, "signal", None) == "INT"]
    if not due:
        return
    driver = os.getpid()

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if os.getpid() == driver and due:
            stage.record(due.pop(0), "effect", "the driver was interrupted")
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, on_interrupt)

"""What runs in other threads: a call that the first waits for, a verb while a probe is held, a log."""

from __future__ import annotations

import logging
import logging.handlers
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.engine.gate_client import GateClient

HELD_S = 0.005  # far longer than the lock is free


def in_second_thread(function: Callable[[], object]) -> None:
    """Make a call in a second thread, wait for as long as it takes, and raise what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            raised.append(error)

    second = threading.Thread(target=run, name="harness-second", daemon=True)
    second.start()
    second.join()
    if raised:
        raise raised.pop()


@contextmanager
def repeated_beside(function: Callable[[], object]) -> Iterator[None]:
    """Make a call again and again in a second thread, for as long as the block lasts; raise what it raised."""
    over = threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            while not over.is_set():
                function()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            raised.append(error)

    second = threading.Thread(target=run, name="harness-beside", daemon=True)
    second.start()
    try:
        yield
    finally:
        over.set()
        second.join()
    if raised:
        raise raised.pop()


class Busy:
    """A thread that writes the log of a trainer: it holds the lock of the log's queue for most of the time.

    A process that is forked meanwhile has a copy of that lock which nobody ever releases.
    """

    def __init__(self) -> None:
        self._over = threading.Event()
        self._queue: queue.Queue[logging.LogRecord] = queue.Queue()
        self._handler = logging.handlers.QueueHandler(self._queue)
        logging.getLogger().addHandler(self._handler)
        self._writer = threading.Thread(target=self._write, name="harness-log", daemon=True)
        self._writer.start()

    def end(self) -> None:
        """Let it end, and wait for that."""
        self._over.set()
        self._writer.join()
        logging.getLogger().removeHandler(self._handler)

    def _write(self) -> None:
        while not self._over.is_set():
            with self._queue.mutex:
                self._queue.queue.clear()
                self._over.wait(HELD_S)


class Aside:
    """Waits for a probe to be held, runs the verb, lets the probe go.

    Args:
        gate: a line to the gate of its own.
        fault: the fault that holds the probe.
        run: runs the verb, journalled like any other.
        tell: called when the hold ends, with whether the verb had ended by then.
        hold_s: how long the probe is held at most.
        end_s: how long the verb may take after that.
    """

    def __init__(
        self,
        gate: GateClient,
        fault: str,
        run: Callable[[], None],
        tell: Callable[[bool], None],
        *,
        hold_s: float,
        end_s: float,
    ) -> None:
        self.gate = gate
        self._fault = fault
        self._tell = tell
        self._hold_s = hold_s
        self._end_s = end_s
        self._held = threading.Event()
        self._verb = threading.Thread(target=run, name="harness-aside", daemon=True)
        self._attendant = threading.Thread(
            target=self._attend, name="harness-attendant", daemon=True
        )
        self._attendant.start()

    def _attend(self) -> None:
        if not self.gate.wait_held(self._fault):
            return
        self._held.set()
        self._verb.start()
        self._verb.join(self._hold_s)
        self._tell(not self._verb.is_alive())
        self.gate.release(self._fault)
        self._verb.join(self._end_s)

    def wait(self) -> None:
        """Wait for the verb to end if it has begun: what comes next comes after it."""
        if self._held.is_set():
            self._attendant.join(self._hold_s + self._end_s)

    def end(self) -> None:
        """Wait for the verb; if no probe was held by now, none will be."""
        if not self._held.is_set():
            self.gate.hang_up()
        self._attendant.join(self._hold_s + self._end_s)
        self.gate.close()

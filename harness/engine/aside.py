"""What runs in a second thread: a call that the first waits for, or a verb while a probe is held."""

from __future__ import annotations

import threading
from collections.abc import Callable

from harness.engine.gates import GateClient


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

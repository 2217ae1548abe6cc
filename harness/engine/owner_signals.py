"""Signals that the driver is to get: the guardian sends them, since it outlives whom they end."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import dataclass

from harness.model.gate import Target
from harness.payloads.link import Journal
from harness.ports.clock import now_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """One signal to come.

    Attributes:
        fault: id of the fault that it carries out.
        signal: its number.
        target: the driver alone, or its process group: the workers too.
        where: what the cell was doing, in words.
        due_ns: when to send it.
    """

    fault: str
    signal: int
    target: Target
    where: str
    due_ns: int


class OwnerSignals:
    """What is planned and what was sent, with its records."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._planned: list[Strike] = []
        self._sent: list[Strike] = []
        self.driver = 0  # its pid, once there is one
        self._gone = False  # then that number may be somebody else's

    def plan(
        self, fault: str, number: int, target: Target, where: str, after_s: float = 0.0
    ) -> None:
        """Have a signal sent to the driver `after_s` from now, unless it is gone."""
        if self._gone:
            return
        due_ns = now_ns() + round(after_s * 1e9)
        strike = Strike(fault=fault, signal=number, target=target, where=where, due_ns=due_ns)
        self._planned.append(strike)

    @property
    def due_s(self) -> float:
        """In how many s something is to be sent; infinity if nothing is planned."""
        soonest_ns = min((each.due_ns for each in self._planned), default=math.inf)
        return max(0.0, (soonest_ns - now_ns()) / 1e9)

    def send_due(self) -> None:
        """Send what is due."""
        due = [each for each in self._planned if each.due_ns <= now_ns()]
        self._planned = [each for each in self._planned if each not in due]
        for each in due:
            self._send(each)

    def driver_gone(self, code: int, *, finished: bool = False) -> bool:
        """Take note of how the driver ended; whether one of the signals ended it.

        Args:
            code: its exit code; negative: the signal that ended it.
            finished: it had come to the end of the scenario.
        """
        self._gone = True
        self._planned.clear()
        ended = [each for each in self._sent if _ended_by(each.signal, code) and not finished]
        for each in ended:
            name = signal.Signals(each.signal).name
            self._record(each, "effect", f"{name} has ended the driver, pid {self.driver}")
        return bool(ended)

    def _send(self, strike: Strike) -> None:
        name = signal.Signals(strike.signal).name
        whom = "the driver" if strike.target == "main" else "the driver's process group"
        self._record(strike, "reached", f"{name} to {whom}, {strike.where}")
        self._sent.append(strike)
        # Not reaped before its guardian has heard of its end: the number is still its own.
        if strike.target == "main":
            os.kill(self.driver, strike.signal)
        else:
            os.killpg(self.driver, strike.signal)

    def _record(self, strike: Strike, record: str, detail: str) -> None:
        self._journal.write("fault", "signal_owner", id=strike.fault, record=record, detail=detail)


def _ended_by(number: int, code: int) -> bool:
    """Whether this is how who gets the signal may end: of SIGTERM also by its own handler's hand."""
    return -code == number or (number == signal.SIGTERM and code >= 0)

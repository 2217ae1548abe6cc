"""What the checkers share that judge how a process leaves, and what it leaves behind."""

from __future__ import annotations

from harness.model.history import Event, History, Kind
from harness.ports.checkers import Checker

LEAVING_FAULTS = frozenset({"signal_owner"})


class LeavingChecker(Checker):
    """Applies where the driver is made to leave, by a verb or by a signal."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether the scenario has the driver leave, or signals it."""
        signalled = any(fault["fault"] in LEAVING_FAULTS for fault in history.faults)
        leaves = "leave" in history.verbs or signalled
        return leaves and history.component in self.components


def aftermath(history: History) -> Event | None:
    """What the guardian saw once the driver was gone."""
    notes = [event for event in history.of_kind(Kind.NOTE) if event.op == "aftermath"]
    return notes[-1] if notes else None

"""Counts the transfers that a gate is asked about, and tells which of them a fault strikes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.model.gate import TransferRule


@dataclass(slots=True)
class _Armed:
    """A rule with the transfers that it has counted, by worker."""

    rule: TransferRule
    counts: dict[int | None, int] = field(default_factory=dict)
    struck: bool = False

    def hit(self, asked: Mapping[str, Any]) -> bool:
        """Count a transfer; whether it is the one that is struck."""
        if self.struck or not self.rule.meets(asked):
            return False
        who = None if self.rule.side == "owner" else self.rule.worker(asked)
        self.counts[who] = self.counts.get(who, 0) + 1
        self.struck = self.counts[who] == self.rule.k
        return self.struck


class Transfers:
    """The rules of one cell, in the order in which they were armed."""

    def __init__(self) -> None:
        self._armed: list[_Armed] = []

    def arm(self, rule: TransferRule) -> None:
        """Count for this rule from now on."""
        self._armed.append(_Armed(rule))

    def due(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the interposer has to do at this transfer: go on, or what the fault is called.

        Who may go on is told whether some fault counts such transfers.
        """
        counted = any(each.rule.meets(asked) for each in self._armed)
        due = [each.rule for each in self._armed if each.hit(asked)]
        if not due:
            return {"op": "go", "counted": counted}
        rule = due[0]
        worker = rule.worker(asked)
        sides = ("driver", "worker" if worker is None else f"worker:{worker}")
        role, other = sides if rule.side == "owner" else reversed(sides)
        return {
            "op": rule.op,
            "fault": rule.fault,
            "k": rule.k,
            "seconds": rule.seconds,
            "worker": worker,
            "role": role,
            "other": other,
        }

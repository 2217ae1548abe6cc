"""Faults that the harness's own payloads carry into the workers: they fail, or take their time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from harness.model.gate import GateRule, Order
from harness.model.scenario import Placement
from harness.ports.faults import Stage
from harness.ports.weights import Defect


def gate_rule(fault: str, at: Placement, order: Order) -> GateRule:
    """The rule that carries a fault to a worker's operation."""
    return GateRule(fault=fault, role=at.role, op=at.op, k=at.k, edge=at.edge, order=order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """The env raises an exception at its k-th operation."""

    at: Placement
    fault: Literal["raise"] = "raise"
    id: str = ""

    @property
    def placement(self) -> Placement | None:
        """Where it strikes."""
        return self.at

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Every backend can have an env that raises."""

    def arm(self, stage: Stage) -> None:
        """Have the gate give the order."""
        stage.arm_gate(gate_rule(self.id, self.at, "raise"))
        stage.record(self.id, "armed")

    def fire(self, stage: Stage) -> None:
        """The gate does it."""

    def heal(self, stage: Stage) -> None:
        """It fails once."""
        stage.record(self.id, "healed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """The env does not come back from its k-th operation until the fault is healed."""

    at: Placement
    fault: Literal["stall"] = "stall"
    id: str = ""

    @property
    def placement(self) -> Placement | None:
        """Where it strikes."""
        return self.at

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Every backend can have an env that is slow."""

    def arm(self, stage: Stage) -> None:
        """Have the gate hold whoever comes there."""
        stage.arm_gate(gate_rule(self.id, self.at, "hold"))
        stage.record(self.id, "armed")

    def fire(self, stage: Stage) -> None:
        """The gate does it."""

    def heal(self, stage: Stage) -> None:
        """Let the env go on."""
        stage.release_gate(self.id)
        stage.record(self.id, "healed")


@dataclass(frozen=True, slots=True, kw_only=True)
class BadWeights:
    """A send carries weights that the worker cannot apply.

    Attributes:
        at: a send of the driver.
        defect: a tensor of another shape, one of another name, or none of a known name.
    """

    at: Placement
    defect: Defect
    fault: Literal["bad_weights"] = "bad_weights"
    id: str = ""

    @property
    def placement(self) -> Placement | None:
        """Where it strikes."""
        return self.at

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Every backend can be sent anything."""

    def arm(self, stage: Stage) -> None:
        """Wait for its send."""
        stage.record(self.id, "armed")

    def fire(self, stage: Stage) -> None:
        """Spoil the send that comes next."""
        stage.record(self.id, "reached")
        stage.spoil_next_send(self.id, self.defect)

    def heal(self, stage: Stage) -> None:
        """Later sends are sound."""
        stage.record(self.id, "healed")

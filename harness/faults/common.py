"""What most faults have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.model.gate import GateRule, Order
from harness.model.scenario import Placement
from harness.ports.faults import Stage


def among_threads(setup: Mapping[str, Any], why: str) -> str | None:
    """Why a fault cannot strike where workers are threads; None where they are processes."""
    kind = setup.get("transport") or setup.get("writers", "process")
    return None if kind == "process" else why


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """A fault that any backend can have, that is carried out by somebody else once armed, and heals by itself.

    Attributes:
        id: by which `heal` names it; the loader numbers faults that have none.
        roles: on whose operations it can be placed.
        ops: on which of the driver's operations; empty: any.
        ahead: it strikes the construction if it stands in front of all verbs.
    """

    id: str = ""
    roles: ClassVar[frozenset[str]] = frozenset({"driver"})
    ops: ClassVar[frozenset[str]] = frozenset()
    ahead: ClassVar[bool] = False

    @property
    def placement(self) -> Placement | None:
        """Where it strikes; None: at its own step."""
        at: Placement | None = getattr(self, "at", None)
        return at

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Why a row cannot have it; None if it can."""

    @property
    def lacking(self) -> str | None:
        """What this machine lacks for it, whatever the backend; None if nothing."""
        return None

    def fire(self, stage: Stage) -> None:
        """Strike, where the placement is one of the driver's operations."""

    def heal(self, stage: Stage) -> None:
        """Nothing is left to end; the scenario says that its effects should be over."""
        stage.record(self.id, "healed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated(Common):
    """A fault that the gate carries to an operation of a worker.

    Attributes:
        at: which one.
    """

    at: Placement
    roles: ClassVar[frozenset[str]] = frozenset({"worker"})

    def arm_gate(self, stage: Stage, order: Order, **details: Any) -> None:
        """Have the gate give an order there."""
        stage.arm_gate(
            GateRule(
                fault=self.id,
                role=self.at.role,
                op=self.at.op,
                k=self.at.k,
                edge=self.at.edge,
                order=order,
                **details,
            )
        )
        stage.record(self.id, "armed")

    def heal(self, stage: Stage) -> None:
        """Let go whoever is held, and strike nobody any more."""
        stage.release_gate(self.id)
        stage.record(self.id, "healed")

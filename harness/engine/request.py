"""What a cell is asked to do, as it travels from the supervisor to the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.engine.components import COMPONENTS, Component
from harness.model.plain import from_plain, to_plain
from harness.ports.faults import Fault

PROTOCOL = 1
NOT_INSTALLED = "not installed"  # what a server says instead of the version of a package


def grace_s(deadline_s: float) -> float:
    """How much later than its deadline a call may return and still be late rather than hung."""
    return max(2.0, deadline_s / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRequest:
    """One row of one scenario on one backend.

    Attributes:
        cell: the cell's id.
        adapter: `module:attr` of the backend.
        component: which port.
        setup: the row's setup, plain.
        steps: the scenario's steps.
        expect: accepted outcomes.
        time_scale: what deadlines are multiplied by.
        seed: of the run.
        properties: what the backend declares, for the judge.
    """

    cell: str
    adapter: str
    component: str
    setup: Mapping[str, Any]
    steps: tuple[Any, ...]
    expect: tuple[str, ...]
    time_scale: float = 1.0
    seed: int = 0
    properties: Mapping[str, Any] = field(default_factory=dict)

    def faults(self) -> tuple[Fault, ...]:
        """The scenario's faults, in order."""
        return tuple(step for step in self.steps if hasattr(step, "fault"))

    def verbs(self) -> tuple[Any, ...]:
        """The scenario's verbs, in order; those that a fault runs aside come last."""
        aside = (fault.during for fault in self.faults() if hasattr(fault, "during"))
        return (*(step for step in self.steps if hasattr(step, "do")), *aside)

    def gated(self) -> tuple[str, ...]:
        """Operations of workers at which some fault is placed."""
        places = (fault.placement for fault in self.faults())
        return tuple(sorted({at.op for at in places if at is not None and at.role != "driver"}))

    def to_plain(self) -> dict[str, Any]:
        """For a JSON line."""
        return {"v": PROTOCOL, **to_plain(self)}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> CellRequest:
        """Read a JSON line back.

        Raises:
            ValueError: it was written by another version of the protocol.
        """
        if plain.get("v") != PROTOCOL:
            raise ValueError(f"protocol version {plain.get('v')!r}, this side speaks {PROTOCOL}")
        component: Component = COMPONENTS[plain["component"]]
        rest = {key: value for key, value in plain.items() if key not in ("v", "steps")}
        steps = tuple(from_plain(component.step_type(step), step) for step in plain["steps"])
        return from_plain(CellRequest, {**rest, "steps": steps})

"""Faults at sequence points: something is held half-way while something else is attempted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from harness.faults.payload import gate_rule
from harness.model.scenario import Placement
from harness.ports.faults import Stage
from harness.ports.weights import Mutate, Send


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldForward:
    """A forward is held between reading one end of its parameters and the other, while the trainer acts.

    Whatever `during` is runs in a second thread; the hold ends when it returns, or after `bound_s`,
    which lies below its deadline: a scheme that waits for the forward to end is right to wait.

    Attributes:
        at: a forward of a worker.
        during: what the trainer does meanwhile.
        bound_s: how long the forward is held at most.
    """

    at: Placement
    during: Mutate | Send
    bound_s: float = 1.0
    fault: Literal["hold_forward"] = "hold_forward"
    id: str = ""

    @property
    def placement(self) -> Placement | None:
        """Where it strikes."""
        return self.at

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Every backend runs the harness's policy."""

    def arm(self, stage: Stage) -> None:
        """Have the gate hold the forward, and somebody attend to it."""
        stage.arm_gate(gate_rule(self.id, self.at, "hold"))
        stage.record(self.id, "armed")
        stage.attend_hold(self.id, self.during, self.bound_s)

    def fire(self, stage: Stage) -> None:
        """The gate does it."""

    def heal(self, stage: Stage) -> None:
        """Let the forward go on."""
        stage.release_gate(self.id)
        stage.record(self.id, "healed")

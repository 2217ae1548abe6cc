"""Faults at sequence points: something is held half-way while something else is attempted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.faults.common import Gated
from harness.ports.faults import Stage
from harness.ports.weights import Mutate, Send


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldForward(Gated):
    """A forward is held between reading one end of its parameters and the other, while the trainer acts.

    Whatever `during` is runs in a second thread; the hold ends when it returns, or after `bound_s`,
    which lies below its deadline: a scheme that waits for the forward to end is right to wait.

    Attributes:
        during: what the trainer does meanwhile.
        bound_s: how long the forward is held at most.
    """

    during: Mutate | Send
    bound_s: float = 1.0
    fault: Literal["hold_forward"] = "hold_forward"

    def arm(self, stage: Stage) -> None:
        """Have the gate hold the forward, and somebody attend to it."""
        self.arm_gate(stage, "hold")
        stage.attend_hold(self.id, self.during, self.bound_s)

"""A signal to the process that owns the workers: what is judged is what it leaves, or how it goes on."""

from __future__ import annotations

import signal as signals
from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.faults.common import Gated
from harness.model.gate import Target
from harness.ports.faults import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalOwner(Gated):
    """The owner of the workers gets a signal, between two calls or in the middle of one.

    Attributes:
        at: an operation of the driver: before or after it; or one of a worker, which is held there
            until the fault is healed or the owner has ended, so that the owner's call is open.
        signal: without its `SIG`. `KILL` and `TERM` end the owner, and the scenario with it.
        target: the owner alone, or its process group, as Ctrl-C in a terminal does.
        after_s: how long after the worker is held: the owner comes to wait for it meanwhile.
    """

    signal: Literal["KILL", "TERM", "INT"] = "KILL"
    target: Target = "main"
    after_s: float = 0.2
    fault: Literal["signal_owner"] = "signal_owner"
    roles: ClassVar[frozenset[str]] = frozenset({"driver", "worker"})

    def arm(self, stage: Stage) -> None:
        """Have the gate hold the worker, or wait for the driver's operation."""
        if self.at.role == "driver":
            stage.record(self.id, "armed")
            return
        number = int(signals.Signals[f"SIG{self.signal}"])
        self.arm_gate(stage, "hold", signal=number, target=self.target, after_s=self.after_s)

    def fire(self, stage: Stage) -> None:
        """Signal at once: no call is open."""
        number = int(signals.Signals[f"SIG{self.signal}"])
        stage.signal_owner(self.id, number, self.target)

    def heal(self, stage: Stage) -> None:
        """Let the worker go on."""
        if self.at.role == "driver":
            stage.record(self.id, "healed")
        else:
            super(SignalOwner, self).heal(
                stage
            )  # slots make a new class, which plain super() misses

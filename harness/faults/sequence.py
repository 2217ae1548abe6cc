"""Faults at sequence points: something is held half-way while something else is attempted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.faults.common import Gated
from harness.ports.faults import Stage
from harness.ports.weights_verbs import Forward, Mutate, Send, Shutdown


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held(Gated):
    """Whatever `during` is runs in a second thread; the hold ends when it returns, or after `bound_s`.

    Attributes:
        during: what the trainer does meanwhile.
        bound_s: how long the worker is held at most.
    """

    during: Forward | Mutate | Send | Shutdown
    bound_s: float = 1.0
    fault: str = ""

    def arm(self, stage: Stage) -> None:
        """Have the gate hold the worker, and somebody attend to it."""
        self.arm_gate(stage, "hold")
        stage.attend_hold(self.id, self.during, self.bound_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldForward(_Held):
    """A forward is held between reading one end of its parameters and the other, while the trainer acts.

    The bound lies below the deadline of what runs meanwhile: a scheme that waits for the forward to end is
    right to wait.
    """

    fault: Literal["hold_forward"] = "hold_forward"
    worker_ops: ClassVar[frozenset[str]] = frozenset({"forward"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldApply(_Held):
    """A worker is held while it applies a snapshot (before, half-way, after) and the trainer, in its send, acts."""

    fault: Literal["hold_apply"] = "hold_apply"
    worker_ops: ClassVar[frozenset[str]] = frozenset({"apply", "half_apply"})

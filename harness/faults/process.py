"""Faults of processes: signals at a chosen operation, and garbage collection at a chosen moment."""

from __future__ import annotations

import signal as signals
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from harness.faults.common import Common, Gated, among_threads
from harness.faults.primitive import undeclared
from harness.model.scenario import Placement
from harness.ports.faults import Stage

_KILLED_ALONE = "a worker that is a thread cannot be killed alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal(Gated):
    """A worker process gets a signal at its k-th operation: it sends it to itself, at that very point.

    Attributes:
        signal: without its `SIG`; one that ends the process. `TERM` may be caught, or ignored: then
            the fault has no effect.
    """

    signal: Literal["KILL", "SEGV", "TERM"] = "KILL"
    fault: Literal["signal"] = "signal"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Threads die with the driver."""
        del capabilities
        return among_threads(setup, _KILLED_ALONE)

    def arm(self, stage: Stage) -> None:
        """Have the gate give the order."""
        self.arm_gate(stage, "signal", signal=int(signals.Signals[f"SIG{self.signal}"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill(Common):
    """The driver kills a worker process from outside, between two calls: it is idle, or mid-step.

    Attributes:
        worker: which; in a pool, that of which env.
    """

    worker: int = 0
    fault: Literal["kill"] = "kill"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Threads die with the driver."""
        del capabilities
        workers = int(setup.get("num_envs") or setup["num_workers"])
        if self.worker >= workers:
            return f"there is no worker {self.worker}"
        return among_threads(setup, _KILLED_ALONE)

    def arm(self, stage: Stage) -> None:
        """Strike at once."""
        stage.record(self.id, "armed")
        stage.kill_worker(self.id, self.worker)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(Gated):
    """A worker process stops itself (SIGSTOP) at its k-th operation; the heal continues it (SIGCONT)."""

    fault: Literal["stop"] = "stop"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Threads stop with the driver."""
        del capabilities
        return among_threads(setup, "a worker that is a thread cannot be stopped alone")

    def arm(self, stage: Stage) -> None:
        """Have the gate give the order."""
        self.arm_gate(stage, "signal", signal=int(signals.SIGSTOP))


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze(Common):
    """The driver stops a worker process (SIGSTOP) between two calls; the heal continues it (SIGCONT).

    Attributes:
        worker: which.
    """

    worker: int = 0
    fault: Literal["freeze"] = "freeze"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Threads stop with the driver."""
        del capabilities
        return among_threads(setup, "a worker that is a thread cannot be stopped alone")

    def arm(self, stage: Stage) -> None:
        """Strike at once."""
        stage.record(self.id, "armed")
        stage.freeze_worker(self.id, self.worker)

    def heal(self, stage: Stage) -> None:
        """Let it go on."""
        stage.thaw_worker(self.worker)
        stage.record(self.id, "healed")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectCycle(Common):
    """The backend's object is dropped without being closed, in a reference cycle, and the cycle is collected.

    Attributes:
        channels: `closed`: a finalizer of an object in the cycle closes the owner's ends of the
            results before any other finalizer runs, as happens by chance in long test runs
            (pytorch/rl#4701).
        at: an operation of the driver on the *next* pool, in the middle of which the collection
            falls; left out: it falls at its own step.
        after_s: how far into that operation.
        within_s: the deadline of a collection at its own step.
    """

    channels: Literal["open", "closed"] = "open"
    at: Placement | None = None
    after_s: float = 0.3
    within_s: float = 5.0
    fault: Literal["collect_cycle"] = "collect_cycle"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """A backend may say that its pools have to be closed by hand."""
        if not capabilities.closes_by_itself:
            return "the backend does not release what is dropped without close"
        if self.channels == "open":
            return None
        return undeclared("results/owner/reader", setup, capabilities)

    def arm(self, stage: Stage) -> None:
        """Drop the pool; collect at once unless placed in a later call."""
        closed = self.channels == "closed"
        closing = stage.channel_ends("results", "owner", "reader") if closed else ()
        stage.drop_in_cycle(closing)
        stage.record(self.id, "armed", f"{len(closing)} ends are closed by the first finalizer")
        if self.at is None:
            stage.collect_garbage(self.id, self.within_s)

    def fire(self, stage: Stage) -> None:
        """Have the collection fall into the call that comes next."""
        stage.collect_during_call(self.id, self.after_s)

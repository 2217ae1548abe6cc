"""The port of faults: what a fault may touch, and what it has to leave behind.

A fault is armed, fires, and is healed; it leaves three records: `armed`, `reached`, and `effect`
once something was seen of it. A fault without an effect makes its cell VACUOUS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from harness.model.gate import GateRule, Target
from harness.model.scenario import Placement
from harness.ports.pool import Channel

Record = Literal["armed", "reached", "effect", "healed"]


class Closable(Protocol):
    """Something that can be closed, and knows whether it is."""

    @property
    def closed(self) -> bool:
        """Whether it is closed."""

    def close(self) -> None:
        """Close it."""


class Shortages(Protocol):
    """What can run short: each makes it so, and `end` gives back what the fault has taken."""

    def limit(self, fault: str, resource: str, spare: int) -> None:
        """Lower a limit of the driver's process, and of whoever it starts."""

    def fill_shared_memory(self, fault: str) -> None:
        """Leave no room in /dev/shm."""

    def pin(self, fault: str) -> None:
        """Leave the driver, and whoever it starts, one processor."""

    def end(self, fault: str) -> None:
        """Give back."""


class Stage(Protocol):
    """What a fault may touch while it is armed, fired or healed."""

    @property
    def shortages(self) -> Shortages:
        """What the operating system gives."""

    def record(self, fault: str, record: Record, detail: str = "", **data: Any) -> None:
        """Journal one of the records."""

    def arm_gate(self, rule: GateRule) -> None:
        """Have a sequence point give an order."""

    def release_gate(self, fault: str) -> None:
        """Let probes that this fault holds go on."""

    def attend_hold(self, fault: str, verb: Any, bound_s: float) -> None:
        """Once a probe is held, run `verb` in a second thread; release it when that ended or after `bound_s`."""

    def signal_owner(self, fault: str, number: int, target: Target) -> None:
        """Have the driver, or its whole process group, signalled here and now."""

    def channel_ends(self, channel: str, end: str, how: str) -> Sequence[Closable]:
        """The backend's ends of a channel."""

    def arm_transfer(self, fault: TransferFault) -> None:
        """Have the k-th transfer from now struck, in whichever process it happens."""

    def fill_channel(self, channel: str, worker: int) -> int:
        """Fill the owner's way to a worker; how many bytes that took."""

    def drop_in_cycle(self, closing: Sequence[Closable]) -> None:
        """Leave the backend's object in a reference cycle whose first finalizer closes these."""

    def collect_garbage(self, fault: str, within_s: float) -> None:
        """Collect garbage as an operation with a deadline, and record whether the cycle is gone."""

    def collect_during_call(self, fault: str, after_s: float) -> None:
        """Collect garbage in the main thread, `after_s` into the call that comes next."""

    def kill_worker(self, fault: str, worker: int) -> None:
        """Kill a worker process, and record that it is gone."""

    def freeze_worker(self, fault: str, worker: int) -> None:
        """Stop a worker process, and record that it is stopped."""

    def thaw_worker(self, worker: int) -> None:
        """Let a worker process go on that was stopped."""

    def spoil_next_send(self, fault: str, defect: str) -> None:
        """Have the next send carry weights that the worker cannot apply; of a storage, the next batch."""


class Fault(Protocol):
    """A fault's dataclass, as the scenario's step gives it."""

    fault: str
    id: str
    roles: ClassVar[frozenset[str]]
    ops: ClassVar[frozenset[str]]

    @property
    def placement(self) -> Placement | None:
        """Where it strikes; None: at its own step."""

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Why this row cannot have the fault, if so."""

    @property
    def lacking(self) -> str | None:
        """What this machine lacks for it, if anything."""

    def arm(self, stage: Stage) -> None:
        """Called at its step."""

    def fire(self, stage: Stage) -> None:
        """Called where its placement on the driver strikes."""

    def heal(self, stage: Stage) -> None:
        """Called at its `heal` step."""


class TransferFault(Protocol):
    """A fault that strikes an item on its way: the k-th that its role puts into a channel, or gets from it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def fault(self) -> str:
        """What it is called: what the interposer has to do."""

    @property
    def channel(self) -> Channel:
        """Which channel."""

    @property
    def role(self) -> str:
        """Whose transfers: `driver`, `worker` or `worker:INDEX`."""

    @property
    def k(self) -> int:
        """Which of them, from 1."""

    @property
    def puts(self) -> bool:
        """Whether the role puts into this channel; else it gets."""

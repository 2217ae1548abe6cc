"""Faults of single items on their way: the k-th that a role puts into a channel, or gets from it.

What befalls an item befalls it where it is put; what befalls an operation, a delay or an error, may
befall either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from harness.faults.common import Common, among_threads
from harness.faults.primitive import uncounted
from harness.ports.faults import Stage
from harness.ports.pool import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer(Common):
    """An item on its way.

    Attributes:
        channel: `commands` and `weights` are put by the driver and got by workers, `results` the other way round.
        role: `driver`, `worker` (any) or `worker:INDEX`.
        k: which of its transfers, counted from when the fault is armed; those of `driver` in all.
    """

    channel: Channel
    role: str
    k: int = 1
    fault: str = ""
    strikes_transfer: ClassVar[bool] = True
    strikes_item: ClassVar[bool] = False
    roles: ClassVar[frozenset[str]] = frozenset({"driver", "worker"})

    @property
    def puts(self) -> bool:
        """Whether the role puts into this channel; else it gets."""
        return (self.channel == "results") == (self.role != "driver")

    @property
    def nonsense(self) -> str | None:
        """What is wrong with channel and role, if anything: who gets an item can do nothing to it."""
        if self.puts or not self.strikes_item:
            return None
        who = "a worker" if self.channel == "results" else "the driver"
        return f"{self.channel} are put by {who}, got {self.role!r}"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """The backend has to say what the transfers of the channel go through."""
        return uncounted(self.channel, setup, capabilities)

    def arm(self, stage: Stage) -> None:
        """Have the gate strike it."""
        stage.arm_transfer(self)
        stage.record(self.id, "armed")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayTransfer(Transfer):
    """A transfer takes longer.

    Attributes:
        seconds: how much.
    """

    role: str = "driver"
    seconds: float = 0.3
    fault: Literal["delay_transfer"] = "delay_transfer"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailTransfer(Transfer):
    """A transfer raises `OSError`; an item that was to be put is not, one that was got is lost."""

    fault: Literal["fail_transfer"] = "fail_transfer"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTransfer(Transfer):
    """An item vanishes on its way."""

    fault: Literal["drop_transfer"] = "drop_transfer"
    strikes_item: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateTransfer(Transfer):
    """An item arrives twice."""

    fault: Literal["duplicate_transfer"] = "duplicate_transfer"
    strikes_item: ClassVar[bool] = True

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """What no channel of the backend can do, or what fails by itself, tells nothing of the backend."""
        if self.channel in capabilities.once:
            return f"the backend declares that items of {self.channel} cannot come twice"
        return uncounted(self.channel, setup, capabilities)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderTransfer(Transfer):
    """A command arrives after the one that the driver sends next, to whichever worker that goes.

    Results are not: a worker has nothing more to say before the first is taken.

    Attributes:
        seconds: if no other is sent within this time it goes out all the same, and the fault has no effect.
    """

    channel: Literal["commands"] = "commands"
    role: Literal["driver"] = "driver"
    seconds: float = 0.5
    fault: Literal["reorder_transfer"] = "reorder_transfer"
    strikes_item: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pickled(Transfer):
    """Something befalls the bytes of an item, or the pipe that they go through."""

    strikes_item: ClassVar[bool] = True

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """What threads hand over is not bytes in a pipe."""
        refused = among_threads(setup, "what threads hand over is not bytes in a pipe")
        return refused or uncounted(self.channel, setup, capabilities)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateTransfer(_Pickled):
    """An item arrives as the first half of its bytes."""

    fault: Literal["truncate_transfer"] = "truncate_transfer"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrebuildableItem(_Pickled):
    """An item raises when its receiver rebuilds it."""

    fault: Literal["unrebuildable_item"] = "unrebuildable_item"


@dataclass(frozen=True, slots=True, kw_only=True)
class TearTransfer(_Pickled):
    """A worker is killed half-way through writing an item: a length was promised, and half of it comes."""

    channel: Literal["results"] = "results"
    fault: Literal["tear_transfer"] = "tear_transfer"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutChannel(_Pickled):
    """A worker's own end of the results is closed under its feet where it puts one, and stays so.

    The end of a duplex pipe is that of its commands as well.
    """

    channel: Literal["results"] = "results"
    fault: Literal["cut_channel"] = "cut_channel"

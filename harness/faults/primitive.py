"""Faults of the primitives that processes talk through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from harness.faults.common import Common, among_threads
from harness.model.scenario import Placement
from harness.ports.faults import Stage
from harness.ports.pool import Channel, Close, End


def undeclared(wanted: str, setup: Mapping[str, Any], capabilities: Any) -> str | None:
    """Why an end of a channel cannot be closed in this row, if so."""
    if wanted in capabilities.channels.get(setup["transport"], ()):
        return None
    return f"the backend declares no channel {wanted} for transport={setup['transport']}"


def uncounted(channel: str, setup: Mapping[str, Any], capabilities: Any) -> str | None:
    """Why transfers of a channel cannot be told in this row, if so."""
    if channel in capabilities.transfers.get(setup["transport"], ()):
        return None
    return f"the backend declares no transfers of {channel} for transport={setup['transport']}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseChannel(Common):
    """Close one end of a channel under the backend's feet (pytorch/rl#4701); it stays closed.

    Attributes:
        channel: `commands` or `results`; a duplex pipe answers to both.
        end: whose end.
        how: `reader`: the reading connection alone, as a finalizer leaves it; `public`: by the
            channel's own close.
        at: an operation of the driver; its own step if left out.
    """

    channel: Channel
    end: End = "owner"
    how: Close = "reader"
    at: Placement | None = None
    fault: Literal["close_channel"] = "close_channel"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """The backend has to declare this end."""
        return undeclared(f"{self.channel}/{self.end}/{self.how}", setup, capabilities)

    def arm(self, stage: Stage) -> None:
        """Strike at once unless placed elsewhere."""
        stage.record(self.id, "armed")
        if self.at is None:
            self.fire(stage)

    def fire(self, stage: Stage) -> None:
        """Close every such end that is open; the effect is that they are closed."""
        every = stage.channel_ends(self.channel, self.end, self.how)
        ends = [each for each in every if not each.closed]
        stage.record(self.id, "reached", f"{len(ends)} ends of {self.channel}")
        for each in ends:
            each.close()
        if ends and all(each.closed for each in ends):
            stage.record(self.id, "effect", f"{len(ends)} ends are closed")


@dataclass(frozen=True, slots=True, kw_only=True)
class FillChannel(Common):
    """The owner's way to a worker is full: zeros are written until not one more byte fits.

    Whoever reads them meets nonsense, so that the worker has to be held (`stall`) to the end.

    Attributes:
        worker: whose channel.
        channel: which; results are on their way to the owner.
    """

    worker: int
    channel: Literal["commands"] = "commands"
    fault: Literal["fill_channel"] = "fill_channel"

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """The backend has to say which descriptors the channel has; what threads share has no end."""
        refused = among_threads(setup, "what threads share is bounded by no pipe")
        return refused or uncounted(self.channel, setup, capabilities)

    def arm(self, stage: Stage) -> None:
        """Fill it now; the effect is that it takes no more."""
        stage.record(self.id, "armed")
        stage.record(self.id, "reached")
        size = stage.fill_channel(self.channel, self.worker)
        if size:
            stage.record(self.id, "effect", f"{size} bytes, and not one more", worker=self.worker)

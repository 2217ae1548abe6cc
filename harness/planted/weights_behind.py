"""The reference where weights travel behind their instructions, on a channel of their own, and what goes wrong there.

Items carry their version, and `behind` reads what an instruction names; the others do not look at it.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from harness.adapters._reference_weights import SchemeWeights
from harness.planted.weights import FORKING, planted
from reference_impl.core import channel
from reference_impl.core.channel import ChannelClosed, End
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.weights import outgoing
from reference_impl.weights.sender import Sender
from reference_impl.weights.store import PayloadMissing, SnapshotReader

if TYPE_CHECKING:
    import torch

    from reference_impl.weights import packing
    from reference_impl.weights.messages import Payload

_ABLE = replace(
    FORKING,
    setup={**FORKING.setup, "host": frozenset({"own"}), "transport": frozenset({"process"})},
    transfers={"process": frozenset({"commands", "results", "weights"})},
)


class _Reader:
    """Reads, of what comes behind, the weights that an instruction names."""

    def __init__(self, snapshots: SnapshotReader, end: End) -> None:
        self._snapshots = snapshots
        self._end = end
        self._here: deque[tuple[int, Payload]] = deque()

    def read(self, payload: Payload, version: int) -> tuple[packing.Layout, torch.Tensor]:
        """Return what has come behind, whatever the instruction says of where it is.

        Raises:
            PayloadMissing: what comes is of a later version.
        """
        del payload
        while self.wait(NEVER) and self._here[0][0] < version:
            self._here.popleft()
        if self._here[0][0] > version:
            raise PayloadMissing(f"the weights of version {version} have not come")
        return self.take()

    def wait(self, deadline: Deadline) -> bool:
        """Wait for an item; return whether there is one.

        Raises:
            ChannelClosed: the sender has hung up.
        """
        if not self._here and channel.wait((self._end,), (), deadline):
            self._here.append(channel.recv(self._end))
        return bool(self._here)

    def take(self) -> tuple[packing.Layout, torch.Tensor]:
        """Read the next item."""
        version, payload = self._here.popleft()
        return self._snapshots.read(payload, version)

    def refresh(self, payload: Payload) -> None:
        """As the reader of snapshots."""
        self._snapshots.refresh(payload)

    def close(self) -> None:
        """Give up both."""
        channel.abandon(self._end)
        self._snapshots.close()


class _NotAwaited(_Reader):
    """Takes what it had for weights that have not come in an instant."""

    INSTANT_S = 0.1
    _last: tuple[packing.Layout, torch.Tensor] | None = None

    def read(self, payload: Payload, version: int) -> tuple[packing.Layout, torch.Tensor]:
        """Return the next item, or the last one again."""
        del payload, version
        if self.wait(NEVER if self._last is None else Deadline.after(self.INSTANT_S)):
            layout, data = self.take()
            self._last = layout, data.clone()
        assert self._last is not None
        return self._last[0], self._last[1].clone()


class _InOrder(_Reader):
    """Takes whatever comes next for what the instruction names."""

    def read(self, payload: Payload, version: int) -> tuple[packing.Layout, torch.Tensor]:
        """Return the next item."""
        del payload, version
        self.wait(NEVER)
        return self.take()


class _Sender(Sender):
    """Sends each instruction, and where its weights lie behind it."""

    reader: ClassVar[type[_Reader]] = _Reader

    def __init__(self, num_workers: int) -> None:
        super().__init__(num_workers)
        self.behind: dict[int, End] = {}

    def link(self, worker: int, kind: Literal["process", "thread"]) -> tuple[End, Any]:
        """Open both channels to a worker."""
        theirs, snapshots = super().link(worker, kind)
        ours, end = channel.pair(kind)
        if worker in self.behind:
            channel.close(self.behind[worker])
        self.behind[worker] = ours
        return theirs, self.reader(snapshots, end)

    def _instruct(self, version: int, payloads: Mapping[int, Payload]) -> int:
        request_id = super()._instruct(version, dict(payloads))
        for worker, payload in payloads.items():
            with contextlib.suppress(ChannelClosed):
                channel.send(self.behind[worker], (version, payload))
        return request_id

    def close(self) -> None:
        """Hang up on both."""
        super().close()
        for end in self.behind.values():
            channel.close(end)

    def abandon(self) -> None:
        """Drop both."""
        super().abandon()
        for end in self.behind.values():
            channel.abandon(end)


class _NotAwaitedSender(_Sender):
    reader: ClassVar[type[_Reader]] = _NotAwaited


class _InOrderSender(_Sender):
    reader: ClassVar[type[_Reader]] = _InOrder


class _Weights(SchemeWeights):
    def _ends(self, channel: str) -> list[Any]:
        if channel != "weights":
            return super()._ends(channel)  # type: ignore[arg-type]  # the others are what is left
        sender = self._scheme._sending("channels").sender  # noqa: SLF001 - the ends are there
        return [end for _, end in sorted(sender.behind.items())]


def _planted(name: str, sender: type[_Sender]) -> Any:
    return planted(name, (outgoing, "Sender", sender), sync=_Weights, capabilities=_ABLE)


behind = _planted("behind", _Sender)
weights_not_awaited = _planted("weights_not_awaited", _NotAwaitedSender)
weights_in_order = _planted("weights_in_order", _InOrderSender)

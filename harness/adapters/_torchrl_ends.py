"""Ends of torchrl's queues, as faults close them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from harness.adapters._connections import Connection
from harness.ports.pool import ChannelEnd, Close


@dataclass(frozen=True, slots=True)
class _PublicQueue:
    """A queue that is closed as its documentation says."""

    queue: Any

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return bool(self.queue._closed)  # noqa: SLF001 - a queue has no public way to tell

    def close(self) -> None:
        """Call the queue's own `close`."""
        self.queue.close()


def close_ends(queues: Iterable[Any], how: Close) -> list[ChannelEnd]:
    """Ends that a fault can close: by the queue's own function, or behind its back."""
    if how == "public":
        return [_PublicQueue(queue) for queue in queues]
    return [Connection(queue._reader) for queue in queues]  # noqa: SLF001 - the fault is on the pipe

"""Ends of the reference's channels, as faults close them and count what goes through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.adapters._connections import Connection
from harness.ports.pool import ChannelEnd, Close, End
from reference_impl.core import channel as channels


@dataclass(frozen=True, slots=True)
class _End:
    """An end that is closed by the channel's own function."""

    end: channels.End

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self.end.closed

    def close(self) -> None:
        """Close it."""
        channels.close(self.end)


def close_ends(ends: Sequence[Any], how: Close) -> list[ChannelEnd]:
    """Ends that a fault can close: by the channel's own function, or behind its back."""
    if how == "public":
        return [_End(each) for each in ends]
    return [Connection(each._connection) for each in ends]  # noqa: SLF001 - the fault is on the pipe


def transfer_ends(ends: Sequence[Any], end: End, *, apart: bool) -> list[Any]:
    """Sockets by their descriptors where processes are apart; the ends of threads, which have none, by themselves."""
    if apart:
        return [each.fileno() for each in ends]
    return list(ends) if end == "owner" else [each._peer for each in ends]  # noqa: SLF001 - the worker's

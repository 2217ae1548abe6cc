"""What faults close behind the backs of channels and queues alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Connection:
    """The connection below an end, closed behind the end's back."""

    connection: Any

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return bool(self.connection.closed)

    def close(self) -> None:
        """Close the file descriptor."""
        self.connection.close()

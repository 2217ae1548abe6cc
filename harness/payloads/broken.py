"""Items that cannot be rebuilt from their bytes: the receiver meets an error where it expects a message."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

from harness.payloads.link import Link, ProbeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Pickles; whoever unpickles it journals the fault's effect, and fails.

    Attributes:
        link: to the journal.
        op: the fault's name.
        fault: its id.
        role: the receiver's.
        half: the first half of a pickle, which fails of its own; without it a `ProbeError` is raised.
    """

    link: Link
    op: str
    fault: str
    role: str
    half: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.link, self.op, self.fault, self.role, self.half)


def marker(op: str, fault: str) -> str:
    """By which an error that a fault causes is told from others."""
    return f"{op} ({fault}) strikes here"


def _rebuild(link: Link, op: str, fault: str, role: str, half: bytes | None) -> Any:
    error: Exception = ProbeError(marker(op, fault))
    if half is not None:
        try:
            pickle.loads(half)
        except Exception as raised:  # noqa: BLE001 - raised below
            error = raised
    what = f"rebuilding it raised {type(error).__name__}: {error}"
    link.tell(role, op, fault, "effect", detail=what, marker=str(error))
    raise error

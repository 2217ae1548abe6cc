"""Short journals for the tests of what is drawn."""

from __future__ import annotations

from typing import Any

from harness.model import probe
from harness.model.history import Event, Kind


def event(
    seq: int, kind: Kind, op: str, number: int | None = None, role: str = "driver", **data: Any
) -> Event:
    """Event `seq`, `seq` ms after the start."""
    at_ns = seq * 1_000_000
    return Event(seq=seq, ts_ns=at_ns, pid=1, role=role, kind=kind, op=op, id=number, data=data)


def invoke(seq: int, op: str, number: int, **data: Any) -> Event:
    """A call with a deadline of 1 s."""
    return event(seq, Kind.INVOKE, op, number, **{"deadline_s": 1.0, **data})


def row(env: int, action: int) -> dict[str, Any]:
    """A row that brings the reply to an action."""
    entries = probe.encode(env_index=env, incarnation=1, episode=1, step=1, action=action)
    return {"env": env, "obs": list(map(float, entries))}


def asynchronous() -> list[Event]:
    """A send that worker 1 sees, and the receive that brings its reply."""
    return [
        invoke(0, "send", 1, actions=[6, 7]),
        event(1, Kind.OK, "send", 1),
        event(2, Kind.OBSERVE, "step", role="worker:1", episode=1, step=1, action=7),
        invoke(3, "recv", 2),
        event(4, Kind.OK, "recv", 2, rows=[row(1, 7)]),
    ]


def fault(seq: int, record: str, role: str = "driver", op: str = "stall", **data: Any) -> Event:
    """A record of fault f1."""
    return event(seq, Kind.FAULT, op, role=role, id="f1", record=record, **data)

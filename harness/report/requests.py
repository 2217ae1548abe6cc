"""What a journal says of the calls: when each was due, which one asked a probe, and which one brought the reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.model import probe
from harness.model.history import Event, History, Kind, Operation

COMPLETIONS = frozenset({Kind.OK, Kind.FAIL, Kind.INFO})
OBSERVATIONS = ("obs", "final")  # entries of a row that hold a probe's observation
DEADLINE_MAX_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a probe saw, the call that asked for it and the call that returned it, where they are known."""

    seen: Event
    asked: Operation | None
    replied: Operation | None


def operations(events: Sequence[Event]) -> tuple[Operation, ...]:
    """The driver's operations of a journal in any state."""
    sound = [
        event
        for event in events
        if event.kind in COMPLETIONS or (event.kind is Kind.INVOKE and event.id is not None)
    ]
    return History(component="", setup={}, expect=(), events=tuple(sound)).operations


def deadline_s(call: Operation) -> float | None:
    """Within how many seconds a call had to end; None if its journal does not say, or nonsense."""
    found = call.arguments.get("deadline_s")
    if not isinstance(found, int | float) or not 0 <= found < DEADLINE_MAX_S:
        return None
    return float(found)


def answered(events: Sequence[Event], calls: Sequence[Operation]) -> Iterable[Answered]:
    """What the probes saw because a call asked for it; actions are request ids."""
    asked = {action: call for call in calls for action in _asks(call)}
    replied = {action: call for call in calls for action in _replies(call)}
    for event in events:
        if event.kind is not Kind.OBSERVE:
            continue
        action = event.data.get("action")
        if isinstance(action, int):
            found = Answered(seen=event, asked=asked.get(action), replied=replied.get(action))
        else:
            around = _around(event, calls)
            found = Answered(seen=event, asked=around, replied=around)
        if found.asked is not None or found.replied is not None:
            yield found


def _asks(call: Operation) -> Iterable[int]:
    actions = call.arguments.get("actions")
    return (a for a in actions if isinstance(a, int)) if isinstance(actions, list) else ()


def _replies(call: Operation) -> Iterable[int]:
    rows = call.result.get("rows")
    for row in rows if isinstance(rows, list) else ():
        for key in OBSERVATIONS:
            entries = row.get(key) if isinstance(row, dict) else None
            try:
                yield probe.decode(entries if isinstance(entries, list) else ()).action
            except (TypeError, ValueError):
                continue  # it is no observation of ours: the checkers say so


def _around(event: Event, calls: Sequence[Operation]) -> Operation | None:
    """The call of the same name during which it was seen."""
    for call in calls:
        done = call.completed
        inside = call.invoked.ts_ns <= event.ts_ns and (done is None or event.ts_ns <= done.ts_ns)
        if call.op == event.op and inside:
            return call
    return None

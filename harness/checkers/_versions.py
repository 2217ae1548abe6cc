"""Which weights versions a trainer's sends allow its workers to act on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.checkers._shared import ended_ns
from harness.model.history import History, Operation

FIRST_VERSION = 1  # the policy factory's own
SENDS = frozenset({"send", "send_async"})
SENDING = SENDS | {"race"}


def sends_of(history: History, model: str = "policy") -> list[Operation]:
    """All sends of a model, in the order of their invocation; each of a race is one, as long as the race."""
    return [
        send
        for op in history.operations
        if op.op in SENDING and op.arguments.get("model", "policy") == model
        for send in (_raced(op) if op.op == "race" else (op,))
    ]


def _raced(race: Operation) -> Iterator[Operation]:
    first, count = int(race.arguments["versions_from"]), int(race.arguments["sends"])
    for version in range(first, first + count):
        data = {**race.invoked.data, "version": version}
        yield replace(race, invoked=replace(race.invoked, data=data))


def forwards_of(history: History) -> list[Operation]:
    """The forwards that returned."""
    return [op for op in history.operations if op.op == "forward" and op.status == "ok"]


def is_defective(send: Operation) -> bool:
    """Whether it carries weights that no worker can apply."""
    return send.arguments.get("defect") is not None


def version_of(operation: Operation) -> int:
    """What a send or a mutation filled the weights with."""
    return int(operation.arguments["version"])


def targets(send: Operation, worker: int) -> bool:
    """Whether a send is meant for this worker."""
    named = send.arguments.get("workers")
    return named is None or worker in named


def read_by(row: Mapping[str, Any]) -> list[int]:
    """The versions that one forward read, each once."""
    return list(dict.fromkeys((row["first"], row["last"], row["buffer"])))


def invoked_before_end(operation: Operation, other: Operation) -> bool:
    """Whether an operation had been invoked when the other one was completed."""
    done = ended_ns(other)
    return done is None or operation.invoked.ts_ns <= done


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """One forward of one worker.

    Attributes:
        forward: the operation that it was part of.
        row: what it read.
        worker: whose.
        began_ns: when, CLOCK_MONOTONIC; a collector's may have begun before the operation.
    """

    forward: Operation
    row: Mapping[str, Any]
    worker: int
    began_ns: int


def acted(history: History) -> list[Acted]:
    """All forwards of all workers, in the order in which they began."""
    found = [
        Acted(
            forward=forward,
            row=row,
            worker=int(row["worker"]),
            began_ns=int(row.get("began_ns") or forward.invoked.ts_ns),
        )
        for forward in forwards_of(history)
        for row in forward.rows
    ]
    return sorted(found, key=lambda each: each.began_ns)


def held_ns(history: History, send: Operation) -> int | None:
    """When a send had told its caller that the targets hold its version; None if it never has."""
    if send.op == "send_async" and send.status == "ok":
        later = (op for op in history.operations if op.op == "wait_async")
        waited = next((op for op in later if op.invoked.ts_ns >= send.invoked.ts_ns), None)
        return ended_ns(waited) if waited is not None and waited.status == "ok" else None
    return ended_ns(send) if send.status == "ok" else None


def may_come_since(history: History, send: Operation, began_ns: int) -> bool:
    """Whether what was sent may have been applied after this time: it was not known to be held before."""
    at = held_ns(history, send)
    return at is None or at >= began_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """What a worker may act on in one forward.

    Attributes:
        last: the last send to it that had returned when the forward began; None if none had.
        current: the versions of that send and of those that were begun after it.
        older: versions that were sent to it before, and the first.
    """

    last: Operation | None
    current: frozenset[int]
    older: frozenset[int]


def owed(history: History, sends: Sequence[Operation], act: Acted) -> Owed:
    """What the valid ones of these sends owe to one forward."""
    valid = [
        send
        for send in sends
        if not is_defective(send)
        and targets(send, act.worker)
        and invoked_before_end(send, act.forward)
    ]
    held = [
        send for send in valid if (at := held_ns(history, send)) is not None and at <= act.began_ns
    ]
    last = held[-1] if held else None
    newest = valid.index(last) if last else 0
    first = frozenset() if last else frozenset({FIRST_VERSION})
    current = frozenset(map(version_of, valid[newest:])) | first
    older = frozenset(map(version_of, valid[:newest])) | {FIRST_VERSION}
    return Owed(last=last, current=current, older=older - current)


def pairs(history: History) -> Iterator[tuple[Acted, Acted]]:
    """Each forward of a worker with the next one of the same worker."""
    before: dict[int, Acted] = {}
    for act in acted(history):
        if act.worker in before:
            yield before[act.worker], act
        before[act.worker] = act

"""What happened in one cell: events as they were journalled, and the operations they make up."""

from __future__ import annotations

import signal as signals
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

EVENT_SCHEMA = 1

Hang = Literal["blocked", "spinning", "frozen"]


class Kind(StrEnum):
    """What an event says."""

    INVOKE = "invoke"
    """The driver is about to call; `data` has `deadline_s`, `grace_s` and the arguments."""
    OK = "ok"
    """The call returned; `data` has what it returned."""
    FAIL = "fail"
    """The call raised; `data` has `error` (its description)."""
    INFO = "info"
    """Unknown whether it happened: the call was abandoned."""
    OBSERVE = "observe"
    """A probe inside a worker saw itself being called."""
    FAULT = "fault"
    """A fault was `armed`, `reached`, or its `effect` seen: `data` has `id`, `record`, `detail`."""
    CENSUS = "census"
    """What the driver's process holds, `op` `opening` or `closing`; or every process of the cell: `mark`."""
    NOTE = "note"
    """Anything a reader wants to know: phases, what an adapter set, where the driver was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of a journal.

    Attributes:
        seq: position in the journal, the event's id in findings.
        ts_ns: CLOCK_MONOTONIC, in ns, comparable between processes of one machine.
        pid: who wrote it.
        role: `driver`, `guardian` or `worker:INDEX`.
        kind: what it says.
        op: the verb, probe operation, fault or census it is about.
        id: request id of an operation of the driver, else None.
        data: JSON values; which ones depends on kind and op.
    """

    seq: int
    ts_ns: int
    pid: int
    role: str
    kind: Kind
    op: str
    id: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An invocation of the driver with its completion, if there was one."""

    invoked: Event
    completed: Event | None

    @property
    def op(self) -> str:
        """The verb."""
        return self.invoked.op

    @property
    def id(self) -> int:
        """The request id."""
        assert self.invoked.id is not None
        return self.invoked.id

    @property
    def status(self) -> Literal["ok", "fail", "info", "open"]:
        """How it ended; `open` if it never did."""
        if self.completed is None:
            return "open"
        match self.completed.kind:
            case Kind.OK:
                return "ok"
            case Kind.FAIL:
                return "fail"
            case _:
                return "info"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What it was called with."""
        return self.invoked.data

    @property
    def result(self) -> Mapping[str, Any]:
        """What it returned or raised; empty while open."""
        return self.completed.data if self.completed else {}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The per-env or per-worker rows that it returned; empty if there are none."""
        return list(self.result.get("rows", ()))

    @property
    def error(self) -> Mapping[str, Any]:
        """The description of what it raised; empty if it did not."""
        found = self.result.get("error")
        return found if isinstance(found, Mapping) else {}

    @property
    def deadline_s(self) -> float:
        """Within how many seconds it had to end."""
        return float(self.invoked.data["deadline_s"])

    @property
    def elapsed_s(self) -> float | None:
        """How long it took; None while open."""
        if self.completed is None:
            return None
        return (self.completed.ts_ns - self.invoked.ts_ns) / 1e9

    @property
    def events(self) -> tuple[int, ...]:
        """The ids of its events, as evidence."""
        done = () if self.completed is None else (self.completed.seq,)
        return (self.invoked.seq, *done)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecord:
    """Whether a fault was armed, reached, and its effect seen."""

    name: str
    id: str
    armed: bool
    reached: bool
    effect: str | None
    worker: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the driver's process ended, as its guardian saw it.

    Attributes:
        exit_code: what it exited with; None if a signal ended it or it had to be ended.
        signal: the signal that ended it, if any.
        ended_by_us: the session was ended from outside, at a missed deadline or on request.
        finished: the driver journalled that it had come to the end of the scenario.
        hang: what a missed deadline looked like.
        error: what went wrong in the harness's own part of the cell, if anything.
        first: the role that left its expected state first in a hang (`worker:1`, `driver`, `pid:57`).
        waits_for: one sentence on what it does or waits for, and on what the driver does.
    """

    exit_code: int | None = None
    signal: int | None = None
    ended_by_us: bool = False
    finished: bool = False
    hang: Hang | None = None
    error: str | None = None
    first: str | None = None
    waits_for: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Something that was there after the driver had left: a process, a name in shared memory, a temporary file."""

    kind: Literal["process", "shm", "file"]
    name: str


@dataclass(frozen=True, kw_only=True)
class History:
    """Everything a checker may look at.

    Attributes:
        component: `pool`, `weights` or `storage`.
        setup: the row's setup as plain values.
        expect: accepted outcomes.
        properties: what the backend declares (`autoreset`, ...).
        faults: the scenario's faults as plain values, in order.
        verbs: the verbs that the scenario uses.
        events: the journal.
        ending: how the driver ended.
        leftovers: what it left behind.
    """

    component: str
    setup: Mapping[str, Any]
    expect: tuple[str, ...]
    properties: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()
    verbs: frozenset[str] = frozenset()
    events: tuple[Event, ...] = ()
    ending: Ending = Ending()
    leftovers: tuple[Leftover, ...] = ()

    @cached_property
    def left_as_asked(self) -> bool:
        """Whether the scenario has ended the driver: by a leave, or by a signal that a fault sent."""
        number = self.ending.signal
        struck = {record.id for record in self.fault_records if record.effect}
        sent = {
            _number(fault.get("signal"))
            for fault in self.faults
            if fault["fault"] == "signal_owner" and fault["id"] in struck
        }
        # Who is asked to end may do so by its own handler's hand.
        killed = number in sent or (number is None and signals.SIGTERM in sent)
        left = any(op.op == "leave" and op.status == "ok" for op in self.operations)
        return killed or (left and number is None)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The driver's operations, in the order of their invocation."""
        done = {e.id: e for e in self.events if e.kind in (Kind.OK, Kind.FAIL, Kind.INFO)}
        return tuple(
            Operation(invoked=e, completed=done.get(e.id))
            for e in self.events
            if e.kind is Kind.INVOKE
        )

    @cached_property
    def fault_records(self) -> tuple[FaultRecord, ...]:
        """One record a fault of the scenario."""
        return tuple(self._fault_record(fault) for fault in self.faults)

    def _fault_record(self, fault: Mapping[str, Any]) -> FaultRecord:
        mine = [e for e in self.of_kind(Kind.FAULT) if e.data.get("id") == fault["id"]]
        stages = {e.data["record"]: e for e in mine}
        effect = stages.get("effect")
        return FaultRecord(
            name=fault["fault"],
            id=fault["id"],
            armed="armed" in stages,
            reached="reached" in stages,
            effect=None if effect is None else str(effect.data.get("detail", "seen")),
            worker=next((e.data["worker"] for e in mine if "worker" in e.data), None),
        )

    def of_kind(self, *kinds: Kind) -> Iterable[Event]:
        """The events of these kinds, in order."""
        return (e for e in self.events if e.kind in kinds)

    def fault_window_ns(self, fault_id: str) -> tuple[int, int | None] | None:
        """From when a fault was reached until it was healed; None as its end: never."""
        start: int | None = None
        for e in self.of_kind(Kind.FAULT):
            if e.data.get("id") != fault_id:
                continue
            if e.data["record"] == "reached" and start is None:
                start = e.ts_ns
            if e.data["record"] == "healed" and start is not None:
                return start, e.ts_ns
        return None if start is None else (start, None)


def _number(signal: object) -> int:
    """The number of a signal as a fault names it: `KILL`."""
    return int(signals.Signals[f"SIG{signal}"])

"""What happened in a cell, in order: the driver's operations, between them faults and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.checkers.bounded_memory import SERIES
from harness.model import probe
from harness.model.history import Event, Kind, Operation
from harness.report.comparison import told
from harness.report.requests import OBSERVATIONS, deadline_s, operations
from harness.report.text import compact, one_line, pairs, plural

LINES_MAX = 200
CITED_MAX = 100
FIRST_KEPT = 20
ARGUMENTS_MAX = 160
COMPARED_MAX = 1_200
RESULT_MAX = 320
ROW_MAX = 160
NOT_ARGUMENTS = frozenset({"deadline_s", "grace_s", "phase"})
ALWAYS_SHOWN = frozenset({Kind.FAULT, Kind.NOTE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An operation, or an event that is none.

    Attributes:
        events: ids of its events, in order.
        kind: `operation`, else the event's kind.
        at: when it began, in seconds from the journal's first event.
        who: request id of an operation, role of any other event.
        op: the verb, or what the event is about.
        arguments: what it was called with.
        status: how an operation ended.
        elapsed: how long it took, and within how many seconds it had to end.
        late: it took longer than that, or did not end.
        result: what it returned or raised, or what the event says.
    """

    events: tuple[int, ...]
    kind: str
    at: str
    who: str
    op: str
    arguments: str = ""
    status: str = ""
    elapsed: str = ""
    late: bool = False
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Lines that were left out."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The lines that are shown, with gaps, and how many there were."""

    lines: tuple[Line | Gap, ...] = ()
    operations: int = 0
    note: str = ""


@dataclass(slots=True)
class _Kept:
    chosen: set[int] = field(default_factory=set)

    def add(self, indices: Sequence[int], limit: int) -> None:
        room = max(0, limit - len(self.chosen))
        self.chosen.update([i for i in indices if i not in self.chosen][:room])


def timeline(events: Sequence[Event], cited: frozenset[int]) -> Timeline:
    """Operations, faults, notes and cited events; at most `LINES_MAX`, cited and last ones first.

    Args:
        events: the journal, in any state.
        cited: ids of events that are evidence.
    """
    start_ns = events[0].ts_ns if events else 0
    calls = operations(events)
    marks = [event for event in events if event.kind is Kind.CENSUS and event.op == "mark"]
    lines = [_operation_line(call, start_ns, marks) for call in calls]
    covered = {seq for line in lines for seq in line.events}
    lines += [
        _event_line(event, start_ns)
        for event in events
        if event.seq not in covered and (event.kind in ALWAYS_SHOWN or event.seq in cited)
    ]
    lines.sort(key=lambda line: line.events[0])
    shown = _bounded(lines, cited)
    left_out = sum(line.count for line in shown if isinstance(line, Gap))
    note = f"{left_out} of {plural(len(lines), 'line')} not shown" if left_out else ""
    return Timeline(lines=shown, operations=len(calls), note=note)


def _operation_line(operation: Operation, start_ns: int, marks: Sequence[Event]) -> Line:
    compared = told(operation)
    hidden = NOT_ARGUMENTS if compared is None else NOT_ARGUMENTS | {"expected"}
    arguments = {k: v for k, v in operation.arguments.items() if k not in hidden}
    allowed_s, elapsed_s = deadline_s(operation), operation.elapsed_s
    late = allowed_s is not None and elapsed_s is not None and elapsed_s > allowed_s
    return Line(
        events=operation.events,
        kind="operation",
        at=_seconds((operation.invoked.ts_ns - start_ns) / 1e9),
        who=str(operation.id),
        op=one_line(operation.op, 60),
        arguments=pairs(arguments, ARGUMENTS_MAX),
        status=operation.status,
        elapsed=_elapsed(elapsed_s, allowed_s),
        late=late or operation.status == "open",
        result=_counted(operation, marks)
        or (_result(operation) if compared is None else one_line(compared, COMPARED_MAX)),
    )


def _counted(operation: Operation, marks: Sequence[Event]) -> str:
    """What a mark counted, over all processes of the cell; empty for any other operation."""
    done = operation.completed
    if operation.op != "mark" or done is None:
        return ""
    within = [mark for mark in marks if operation.invoked.seq < mark.seq < done.seq]
    try:
        parts = [f"{each.of(mark.data)} {each.what}" for mark in within for each in SERIES]
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError):
        return ""
    return ", ".join(parts)


def _event_line(event: Event, start_ns: int) -> Line:
    says = dict(event.data)
    if event.kind is Kind.FAULT:
        head = [str(says.pop("id", "")), str(says.pop("record", "")), str(says.pop("detail", ""))]
        text = " ".join(part for part in [*head, pairs(says, RESULT_MAX)] if part)
    else:
        text = pairs(says, RESULT_MAX)
    return Line(
        events=(event.seq,),
        kind=event.kind.value,
        at=_seconds((event.ts_ns - start_ns) / 1e9),
        who=one_line(event.role, 40),
        op=one_line(event.op, 60),
        result=one_line(text, RESULT_MAX),
    )


def _result(operation: Operation) -> str:
    error = operation.error
    if error:
        return one_line(f"{error.get('type', 'error')}: {error.get('message', '')}", RESULT_MAX)
    if operation.status == "open":
        return "did not end"
    rest: Mapping[str, Any] = operation.result
    rows = rest.get("rows")
    if not isinstance(rows, list):
        return pairs(dict(rest), RESULT_MAX)
    others = {key: value for key, value in rest.items() if key != "rows"}
    shown = "; ".join(_row(row) for row in rows[:8])
    text = f"{plural(len(rows), 'row')}: {shown} {pairs(others, RESULT_MAX)}"
    return one_line(text, RESULT_MAX)


def _row(row: object) -> str:
    """One row in short: what is absent and flags that are not set are left out."""
    if not isinstance(row, dict):
        return compact(row, ROW_MAX)
    seen = [f"{key}: {_seen(row[key])}" for key in OBSERVATIONS if _seen(row.get(key))]
    rest = {
        key: _slim(value)
        for key, value in row.items()
        if value is not None and value is not False and not (key in OBSERVATIONS and _seen(value))
    }
    return ", ".join([pairs(rest, ROW_MAX), *seen])


def _seen(entries: object) -> str:
    """A probe's observation in words; empty for what is none."""
    try:
        found = probe.decode(entries)  # type: ignore[arg-type] # whatever the journal holds
    except (TypeError, ValueError):
        return ""
    action = "" if found.action == probe.NO_ACTION else f" after action {found.action}"
    torn = "" if found.whole else ", TORN"
    where = f"env {found.env_index} episode {found.episode} step {found.step}"
    return f"{where}{action} (pid {found.incarnation}){torn}"


def _slim(value: object) -> object:
    """`3.0` as `3`: the probes' numbers are whole, and there are many of them in a line."""
    if isinstance(value, list):
        return [_slim(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _bounded(lines: Sequence[Line], cited: frozenset[int]) -> tuple[Line | Gap, ...]:
    """Keep the cited lines, some of the first and as many of the last as there is room for."""
    if len(lines) <= LINES_MAX:
        return tuple(lines)
    kept = _Kept()
    kept.add([i for i, line in enumerate(lines) if cited & set(line.events)], CITED_MAX)
    kept.add(range(FIRST_KEPT), CITED_MAX + FIRST_KEPT)
    kept.add(range(len(lines) - 1, -1, -1), LINES_MAX)
    shown: list[Line | Gap] = []
    previous = -1
    for index in [*sorted(kept.chosen), len(lines)]:
        if index - previous > 1:
            shown.append(Gap(count=index - previous - 1))
        if index < len(lines):
            shown.append(lines[index])
        previous = index
    return tuple(shown)


def _elapsed(elapsed_s: float | None, allowed_s: float | None) -> str:
    if elapsed_s is None:
        return "" if allowed_s is None else f"open, of {_seconds(allowed_s)}"
    took = _seconds(elapsed_s)
    return took if allowed_s is None else f"{took} of {_seconds(allowed_s)}"


def _seconds(value: float) -> str:
    return f"{value * 1e3:.1f} ms" if abs(value) < 0.1 else f"{value:.2f} s"

"""The geometry of a cell's drawing: a lane for each process, calls as bars, faults and probes as marks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.model.history import Event, Kind, Operation
from harness.report.requests import Answered, answered, deadline_s, operations
from harness.report.scale import Tick, TimeScale, seconds
from harness.report.text import one_line, pairs, plural

EVENTS_MAX = 200
FIRST_KEPT = 40
FAULTS_MAX = 40  # of those in between
LEFT, WIDTH, RIGHT = 90.0, 1000.0, 26.0
TOP, LANE, BAR, AXIS = 16.0, 32.0, 15.0, 20.0
LEVELS_MAX = 3  # calls that are open at once are drawn below each other
LABEL_WIDTH = 6.2  # of a character
TITLE_MAX = 200
RECORDS = frozenset({"armed", "reached", "effect", "healed"})
DRAWN = frozenset({Kind.INVOKE, Kind.OK, Kind.FAIL, Kind.INFO, Kind.OBSERVE, Kind.FAULT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A process or role: its name, where its marks are, and whether a hang is put down to it."""

    name: str
    y: float
    first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A call; `deadline` is where it had to be over, None if that is beyond what is drawn or the next call."""

    x: float
    y: float
    width: float
    status: str
    label: str
    title: str
    late: bool
    deadline: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A fault's record or a probe's observation."""

    x: float
    y: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when a fault was reached until it was healed, or to the end."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """From a request to the probe, or from the probe to the reply."""

    x1: float
    y1: float
    x2: float
    y2: float
    down: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Everything, in positions of a view that is `WIDTH` wide."""

    height: float
    lanes: tuple[Lane, ...]
    bars: tuple[Bar, ...]
    windows: tuple[Window, ...]
    faults: tuple[Mark, ...]
    probes: tuple[Mark, ...]
    arrows: tuple[Arrow, ...]
    ticks: tuple[Tick, ...]
    cut: float | None
    note: str
    width: float = WIDTH
    left: float = LEFT
    bar: float = BAR
    top: float = TOP


def draw(events: Sequence[Event], first: str | None = None) -> Drawing | None:
    """The drawing of a journal; None if there is nothing to draw.

    Args:
        events: the journal, in any state.
        first: the role that a hang is put down to.
    """
    wanted = sorted((e for e in events if e.kind in DRAWN), key=lambda e: e.ts_ns)
    if not wanted:
        return None
    kept, cut_ns = _kept(wanted)
    there = {event.seq for event in kept}
    calls = [
        each
        for each in operations(events)
        if each.completed is None or not there.isdisjoint(each.events)
    ]
    calls = calls[-EVENTS_MAX:]  # more can be open at once in a broken journal alone
    return _Drawer(kept, calls, cut_ns, len(wanted) - len(kept), first).drawing()


def _kept(wanted: Sequence[Event]) -> tuple[Sequence[Event], int | None]:
    """At most `EVENTS_MAX` of the events, and where some are left out."""
    if len(wanted) <= EVENTS_MAX:
        return wanted, None
    head, tail = wanted[:FIRST_KEPT], wanted[FIRST_KEPT - EVENTS_MAX :]
    between = wanted[FIRST_KEPT : FIRST_KEPT - EVENTS_MAX]
    faults = [event for event in between if event.kind is Kind.FAULT][:FAULTS_MAX]
    return [*head, *faults, *tail], head[-1].ts_ns


class _Drawer:
    """Places what was kept."""

    def __init__(
        self,
        kept: Sequence[Event],
        calls: Sequence[Operation],
        cut_ns: int | None,
        left_out: int,
        first: str | None,
    ) -> None:
        self._kept, self._calls, self._left_out = kept, calls, left_out
        self._cut_ns, self._first = cut_ns, first
        self._levels = _levels(calls)
        self._begins = sorted(call.invoked.ts_ns for call in calls)
        self._below = LANE - 6 + max(self._levels.values(), default=0) * BAR
        self._lanes = self._place_lanes()
        inside = {event.ts_ns for event in kept}
        due = (_due_ns(call) for call in calls if _late(call))
        self._scale = TimeScale(
            {*inside, *(at for at in due if at is not None)}, LEFT, WIDTH - LEFT - RIGHT
        )

    def drawing(self) -> Drawing:
        height = max(self._lanes.values()) + LANE + AXIS
        left_out = f"{plural(self._left_out, 'event')} left out" if self._left_out else ""
        return Drawing(
            height=height,
            lanes=tuple(
                Lane(name=one_line(role, 14), y=y, first=role == self._first)
                for role, y in self._lanes.items()
            ),
            bars=tuple(map(self._bar, self._calls)),
            windows=tuple(self._windows(height)),
            faults=tuple(self._mark(e) for e in self._kept if e.kind is Kind.FAULT),
            probes=tuple(self._mark(e) for e in self._kept if e.kind is Kind.OBSERVE),
            arrows=tuple(self._arrows()),
            ticks=self._scale.ticks(),
            cut=None if self._cut_ns is None else self._scale.x(self._cut_ns),
            note=left_out,
        )

    def _place_lanes(self) -> Mapping[str, float]:
        """Where the lanes begin: the driver, workers by index, the rest."""
        roles = {event.role for event in self._kept} | {"driver"}
        lanes = {}
        y = TOP
        for role in sorted(roles, key=_lane_order):
            lanes[role] = y
            y += self._below + 6 if role == "driver" else LANE
        return lanes

    def _bar(self, call: Operation) -> Bar:
        x = self._scale.x(call.invoked.ts_ns)
        end_ns = self._scale.end_ns if call.completed is None else call.completed.ts_ns
        width = max(self._scale.x(end_ns) - x, 2.0)
        due_ns = _due_ns(call)
        late = _late(call)
        clear = due_ns is not None and (late or due_ns <= self._next_ns(call))
        label = one_line(call.op, 24) + ("" if call.status == "ok" else f" ({call.status})")
        return Bar(
            x=x,
            y=self._lanes["driver"] + 4 + self._levels[call.id] * BAR,
            width=width,
            status=call.status,
            label=label if width > LABEL_WIDTH * len(label) else "",
            title=_says(call),
            late=late,
            deadline=self._scale.x(due_ns) if due_ns is not None and clear else None,
        )

    def _next_ns(self, call: Operation) -> int:
        """When the next call begins, or the drawing ends."""
        i = bisect_right(self._begins, call.invoked.ts_ns)
        return self._begins[i] if i < len(self._begins) else self._scale.end_ns

    def _mark(self, event: Event) -> Mark:
        data = {key: value for key, value in event.data.items() if value not in ("", None)}
        record = str(data.pop("record", ""))
        known = record if record in RECORDS else "other"
        what = f"{event.op} {record}" if event.kind is Kind.FAULT else event.op
        return Mark(
            x=self._scale.x(event.ts_ns),
            y=self._lanes[event.role] + (LANE / 2 if event.role != "driver" else self._below),
            kind="probe" if event.kind is Kind.OBSERVE else known,
            title=one_line(f"{what} (e{event.seq}) {pairs(data, TITLE_MAX)}", TITLE_MAX),
        )

    def _windows(self, height: float) -> Iterable[Window]:
        """From a fault's first `reached` until it is over, on its worker's lane or all of them."""
        begun: dict[str, Event] = {}
        over: dict[str, int] = {}
        for event in self._kept:
            if event.kind is not Kind.FAULT:
                continue
            name, record = str(event.data.get("id")), event.data.get("record")
            if record == "reached":
                begun.setdefault(name, event)
            elif record == "healed" or (event.op, record) == ("hold", "effect"):  # let go
                over.setdefault(name, event.ts_ns)
        for name, event in begun.items():
            x = self._scale.x(event.ts_ns)
            lane = self._lanes.get(f"worker:{event.data.get('worker')}")
            until = "until it was healed or let go" if name in over else "and it lasts to the end"
            yield Window(
                x=x,
                y=TOP if lane is None else lane,
                width=max(self._scale.x(over.get(name, self._scale.end_ns)) - x, 2.0),
                height=height - AXIS - TOP if lane is None else LANE,
                title=one_line(f"{event.op} {name}: reached here, {until}", TITLE_MAX),
            )

    def _arrows(self) -> Iterable[Arrow]:
        for found in answered(self._kept, self._calls):
            yield from self._pair(found)

    def _pair(self, found: Answered) -> Iterable[Arrow]:
        lane = self._lanes[found.seen.role] + LANE / 2
        x = self._scale.x(found.seen.ts_ns)
        if found.asked is not None:
            top = self._lanes["driver"] + 4 + BAR * (1 + self._levels[found.asked.id])
            asked = self._scale.x(found.asked.invoked.ts_ns)
            yield Arrow(x1=asked, y1=top, x2=x, y2=lane - 6, down=True)
        if found.replied is not None and found.replied.completed is not None:
            top = self._lanes["driver"] + 4 + BAR * (1 + self._levels[found.replied.id])
            replied = self._scale.x(found.replied.completed.ts_ns)
            yield Arrow(x1=x, y1=lane - 6, x2=replied, y2=top, down=False)


def _lane_order(role: str) -> tuple[int, int, str]:
    kind, _, index = role.partition(":")
    place = {"driver": 0, "worker": 1}.get(kind, 2)
    return place, int(index) if index.isdecimal() else 0, role


def _levels(calls: Sequence[Operation]) -> dict[int, int]:
    """Below which others each call is drawn, because they overlap."""
    ends: list[int] = []
    found = {}
    for call in sorted(calls, key=lambda each: each.invoked.ts_ns):
        free = (i for i, end in enumerate(ends) if end <= call.invoked.ts_ns)
        level = next(free, min(len(ends), LEVELS_MAX - 1))
        end = 1 << 62 if call.completed is None else call.completed.ts_ns
        ends[level : level + 1] = [end]
        found[call.id] = level
    return found


def _due_ns(call: Operation) -> int | None:
    allowed_s = deadline_s(call)
    return None if allowed_s is None else call.invoked.ts_ns + round(allowed_s * 1e9)


def _late(call: Operation) -> bool:
    due_ns = _due_ns(call)
    if due_ns is None:
        return False
    return call.completed is None or call.completed.ts_ns > due_ns


def _says(call: Operation) -> str:
    elapsed_s, due_ns = call.elapsed_s, _due_ns(call)
    took = "did not end" if elapsed_s is None else seconds(elapsed_s)
    within = "" if due_ns is None else f" of {seconds((due_ns - call.invoked.ts_ns) / 1e9)}"
    return one_line(f"{call.op} (call {call.id}): {call.status}, {took}{within}", TITLE_MAX)

"""How long the calls of each verb took, against their deadlines: one strip of dots a verb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from harness.model.history import Operation
from harness.report.requests import deadline_s
from harness.report.scale import DurationScale, Tick, seconds
from harness.report.text import one_line, plural

VERBS_MAX = 12
DOTS_MAX = 60
LEAST_S = 1e-4
LEFT, PLOT, STRIP, TOP, AXIS = 110.0, 460.0, 18.0, 4.0, 18.0
WIDTH = 980.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One call."""

    x: float
    status: str
    late: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The calls of one verb; `text` sums them up."""

    verb: str
    y: float
    dots: tuple[Dot, ...]
    deadlines: tuple[float, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """All strips of a cell, in positions of a view that is `width` wide."""

    strips: tuple[Strip, ...]
    ticks: tuple[Tick, ...]
    height: float
    note: str
    width: float = WIDTH
    left: float = LEFT
    plot: float = PLOT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    took_s: float
    due_s: float
    status: str

    @property
    def late(self) -> bool:
        return self.took_s > self.due_s or self.status == "open"


def latencies(calls: Sequence[Operation], end_ns: int) -> Latencies | None:
    """The strips; None without a call that has a deadline.

    Args:
        calls: the driver's operations.
        end_ns: the last event, up to which a call that did not end is known to have taken.
    """
    verbs: dict[str, list[_Call]] = {}
    for call in calls:
        due_s = deadline_s(call)
        if due_s:
            known_s = max(0.0, (end_ns - call.invoked.ts_ns) / 1e9)
            took_s = call.elapsed_s if call.elapsed_s is not None else max(known_s, due_s)
            found = _Call(took_s=took_s, due_s=due_s, status=call.status)
            verbs.setdefault(one_line(call.op, 16), []).append(found)
    if not verbs:
        return None
    most_s = max(max(each.took_s, each.due_s) for calls in verbs.values() for each in calls)
    scale = DurationScale(LEAST_S, most_s * 1.5, LEFT, PLOT)
    shown = list(verbs.items())[:VERBS_MAX]
    return Latencies(
        strips=tuple(
            _strip(verb, calls, TOP + i * STRIP, scale) for i, (verb, calls) in enumerate(shown)
        ),
        ticks=scale.ticks(),
        height=TOP + len(shown) * STRIP + AXIS,
        note=f"{plural(len(verbs) - len(shown), 'verb')} not shown"
        if verbs.keys() > dict(shown).keys()
        else "",
    )


def _strip(verb: str, calls: Sequence[_Call], y: float, scale: DurationScale) -> Strip:
    slowest = sorted(calls, key=lambda each: (each.late, each.took_s), reverse=True)
    dots = tuple(
        Dot(
            x=scale.x(each.took_s),
            status=each.status,
            late=each.late,
            title=f"{verb}: {each.status}, {_took(each)} of {seconds(each.due_s)}",
        )
        for each in slowest[:DOTS_MAX]
    )
    due = sorted({each.due_s for each in calls})[:3]
    ended = [each.took_s for each in calls if each.status != "open"]
    parts = [plural(len(calls), "call")]
    if ended:
        parts.append(f"median {seconds(median(ended))}, most {seconds(max(ended))}")
    if len(ended) < len(calls):
        parts.append(f"{len(calls) - len(ended)} open")
    parts[-1] += f" of {' / '.join(map(seconds, due))}"
    return Strip(
        verb=verb,
        y=y,
        dots=dots,
        deadlines=tuple(scale.x(each) for each in due),
        text=", ".join(parts),
    )


def _took(call: _Call) -> str:
    return "did not end" if call.status == "open" else seconds(call.took_s)

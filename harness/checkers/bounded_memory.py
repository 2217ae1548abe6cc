"""`bounded_memory`: what is in flight stays below its bound, and what a cell holds does not grow with use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from harness.checkers._rows import rows_of
from harness.checkers._shared import BUILDING_VERBS, POOL, named
from harness.model.history import Event, History, Kind, Operation
from harness.model.verdict import Contract, Finding, Judgement
from harness.ports.checkers import Checker

NAME = "bounded_memory"
MARKS_MIN = 3  # growth is seen from one interval to the next
EMPTYING = BUILDING_VERBS | {"reset", "shutdown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """One quantity that marks have counted.

    Attributes:
        what: its name with its unit.
        allowed: how much it may grow from the first mark to the last one.
        of: its value in a mark's data, over all processes.
    """

    what: str
    allowed: int
    of: Callable[[Mapping[str, object]], int]


def _summed(key: str) -> Callable[[Mapping[str, object]], int]:
    def total(data: Mapping[str, object]) -> int:
        processes = data["processes"]
        assert isinstance(processes, list)
        return sum(int(each.get(key, 0)) for each in processes)

    return total


def _counted(key: str) -> Callable[[Mapping[str, object]], int]:
    def count(data: Mapping[str, object]) -> int:
        found = data[key]
        assert isinstance(found, list)
        return len(found)

    return count


SERIES = (
    _Series(what="processes", allowed=0, of=_counted("processes")),
    _Series(what="threads", allowed=0, of=_summed("threads")),
    _Series(what="file descriptors", allowed=0, of=_summed("fds")),
    _Series(what="names in shared memory", allowed=0, of=_counted("shm")),
    _Series(what="temporary files", allowed=0, of=_counted("files")),
    # An allocator takes and returns both as it sees fit.
    _Series(what="mappings", allowed=24, of=_summed("mappings")),
    _Series(what="kB of resident memory", allowed=1024, of=_summed("rss_kb")),
)


class _MemoryChecker(Checker):
    """Applies where a scenario has marks, or sends more than has to be taken."""

    __slots__ = ()

    def applies(self, history: History) -> bool:
        """Whether there is either."""
        flooded = any(_may_be_refused(op) for op in history.operations)
        return history.component in self.components and ("mark" in history.verbs or flooded)


def check(history: History) -> Judgement:
    """Judge each series of marks, and how much was in flight after each send that may be refused."""
    marks = [e for e in history.of_kind(Kind.CENSUS) if e.op == "mark"]
    series = SERIES if len(marks) >= MARKS_MIN else ()
    growths = [found for each in series if (found := _growth(each, marks))]
    sends = list(_in_flight(history))
    bound = int(history.properties.get("in_flight_max", 1))
    beyond = [(send, most) for send, most in sends if most > bound]
    flood = [_beyond(beyond, bound)] if beyond else []
    return Judgement(findings=(*growths, *flood), judged=len(series) + len(sends))


def _growth(series: _Series, marks: list[Event]) -> Finding | None:
    values = [series.of(mark.data) for mark in marks]
    if not (_grows_exactly(values) if series.allowed == 0 else _grows(values, series.allowed)):
        return None
    return Finding(
        checker=NAME,
        text=f"{series.what} grow from mark to mark: {', '.join(map(str, values))}",
        contract=Contract.LIVENESS,
        events=tuple(mark.seq for mark in marks),
        leak=True,
    )


def _grows_exactly(values: list[int]) -> bool:
    """What is counted is all there by the second mark: a later maximum is growth, however slow."""
    return values[-1] > values[1] and values[-1] == max(values)


def _grows(values: list[int], allowed: int) -> bool:
    """Growth that does not end, nor slow down by half, and is more than is allowed in all."""
    first, *later = (after - before for before, after in pairwise(values))
    steadily = first > 0 and all(2 * growth >= first for growth in later)
    return steadily and values[-1] - values[0] > allowed


def _in_flight(history: History) -> Iterator[tuple[Operation, int]]:
    """Sends that may be refused and were taken, each with the most steps that one env then had in flight."""
    outstanding: Counter[int] = Counter()
    for op in history.operations:
        if op.op in EMPTYING:
            outstanding.clear()
        elif op.op == "recv" and op.status == "ok":
            outstanding.subtract(row.env for row in rows_of(op))
        elif op.op == "send" and op.status == "ok":
            outstanding.update(range(len(op.arguments["actions"])))
        if _may_be_refused(op) and op.completed is not None:
            yield op, max(outstanding.values(), default=0)


def _may_be_refused(operation: Operation) -> bool:
    return operation.op == "send" and bool(operation.arguments.get("refusable"))


def _beyond(beyond: list[tuple[Operation, int]], bound: int) -> Finding:
    last, most = beyond[-1]
    return Finding(
        checker=NAME,
        text=f"{named(last)} was taken with {most} steps of an env in flight and nothing received: "
        f"at most {bound} may be",
        contract=Contract.LIVENESS,
        events=tuple(seq for send, _ in beyond[:5] for seq in send.events),
    )


CHECKER = _MemoryChecker(name=NAME, components=POOL, check=check)

"""What a storage has to hold: a model of the ring, from what was asked and what was acknowledged.

Batches that were written at the same time lie in an order that nobody knows: of two of them, one comes
first only if its call had ended before the other's began. A batch whose writer was gone, or still is at it, or
that did not fit, may be there or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.model.history import History, Operation

WRITING = frozenset({"extend", "race"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Rows that one call has one writer write: numbers `first` to `last`, in batches of `rows`.

    Attributes:
        began: when the call began, in events of the journal.
        ended: when it was known to have ended; None: not yet.
        certain: whether all of its rows are stored.
    """

    writer: int
    first: int
    last: int
    rows: int
    began: int
    ended: int | None = None
    certain: bool = False

    @property
    def count(self) -> int:
        """How many rows."""
        return self.last - self.first + 1

    def before(self, other: Run) -> bool:
        """Whether it lies before another one for sure."""
        if self.writer == other.writer:
            return self.first < other.first
        return self.ended is not None and self.ended < other.began


@dataclass(frozen=True, slots=True)
class Element:
    """One element as it was read: `slot` is the row's, then the env's in it, if it was told."""

    stream: int
    number: int
    wrong: tuple[str, ...]
    slot: tuple[int, ...]

    @property
    def name(self) -> str:
        """How findings speak of it."""
        return f"row {self.number} of stream {self.stream}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """What is known of the storage at one moment.

    Attributes:
        capacity: in rows.
        width: streams of a writer.
        runs: what was written and not dropped, in the order in which it began.
        dropped: what was emptied, or came after what was loaded.
        exact: whether it is known which slot each row has.
        asked: by writer, the number of the last row that it was asked for.
    """

    capacity: int
    width: int
    runs: tuple[Run, ...] = ()
    dropped: tuple[Run, ...] = ()
    exact: bool = True
    asked: Mapping[int, int] = field(default_factory=dict)

    def run_of(self, element: Element) -> Run | None:
        """The run that an element is of; None: nobody wrote it, or it was dropped."""
        return _among(self.runs, element.stream // self.width, element.number)

    def was_dropped(self, element: Element) -> bool:
        """Whether it was written, and dropped since."""
        return _among(self.dropped, element.stream // self.width, element.number) is not None

    def was_asked_for(self, element: Element) -> bool:
        """Whether its writer was ever told to write it."""
        last = self.asked.get(element.stream // self.width, 0)
        return element.stream >= 0 and 1 <= element.number <= last

    def rows_after(self, run: Run, number: int) -> tuple[int, int]:
        """How many rows came after one, at least and at most."""
        least = most = run.last - number
        for other in self.runs:
            if other is run or other.before(run):
                continue
            most += other.count
            if run.before(other) and other.certain:
                least += other.count
        return least, most

    @property
    def certain(self) -> int:
        """How many rows were acknowledged."""
        return sum(run.count for run in self.runs if run.certain)

    @property
    def uncertain(self) -> int:
        """How many may have been written beside them."""
        return sum(run.count for run in self.runs if not run.certain)

    def slots(self) -> dict[int, tuple[int, int]]:
        """By slot, writer and number of the row that lies there; only if `exact`."""
        placed = [(run.writer, n) for run in self.runs for n in range(run.first, run.last + 1)]
        return {i % self.capacity: row for i, row in enumerate(placed)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A call that has read, with what the ring was when it began and when it ended."""

    operation: Operation
    before: Ring
    after: Ring
    elements: Sequence[Element]


def readings(history: History, *ops: str) -> Iterator[Reading]:
    """Every call of these that returned what it had read."""
    setup = history.setup
    width = int(setup["width"]) if int(setup["dims"]) == 2 else 1
    ring = Ring(capacity=int(setup["capacity"]) // width, width=width)
    kept = ring
    for op in history.operations:
        before, ring = ring, _begun(ring, op)
        if op.op in ops and op.status == "ok":
            yield Reading(operation=op, before=before, after=ring, elements=elements_of(op))
        if op.op == "dump" and op.status == "ok":
            kept = ring
        ring = _ended(ring, op, kept)


def elements_of(operation: Operation) -> list[Element]:
    """What a call has read."""
    return [
        Element(
            stream=int(row["stream"]),
            number=int(row["number"]),
            wrong=tuple(row.get("wrong", ())),
            slot=tuple(map(int, row.get("slot", ()))),
        )
        for row in operation.rows
    ]


def _begun(ring: Ring, op: Operation) -> Ring:
    if op.op not in WRITING:
        return ring
    asked, runs = dict(ring.asked), list(ring.runs)
    for write in op.arguments["writes"]:
        first, rows = int(write["first"]), int(write["rows"])
        last = first + rows * int(write["batches"]) - 1
        runs.append(
            Run(
                writer=int(write["writer"]), first=first, last=last, rows=rows, began=op.invoked.seq
            )
        )
        asked[int(write["writer"])] = last
    together = len(op.arguments["writes"]) > 1 or any(run.ended is None for run in ring.runs)
    return replace(ring, runs=tuple(runs), asked=asked, exact=ring.exact and not together)


def _ended(ring: Ring, op: Operation, kept: Ring) -> Ring:
    if op.completed is None:
        return ring
    seq = op.completed.seq
    match op.op:
        case "extend" | "race":
            ended = list(op.result.get("ended", ["failed"] * len(op.arguments["writes"])))
            told = {int(w["writer"]): e for w, e in zip(op.arguments["writes"], ended, strict=True)}
            if op.arguments.get("defect") is not None:
                told = dict.fromkeys(told, "failed")
            return _told(ring, told, seq)
        case "collect":
            (how,) = op.result.get("ended", ["failed"])
            return _told(ring, {int(op.arguments["writer"]): str(how)}, seq)
        case "empty" if op.status == "ok":
            done = tuple(run for run in ring.runs if run.ended is not None)
            left = tuple(run for run in ring.runs if run.ended is None)
            return replace(ring, runs=left, dropped=ring.dropped + done, exact=not left)
        case "load" if op.status == "ok":
            gone = tuple(run for run in ring.runs if run not in kept.runs)
            return replace(kept, dropped=ring.dropped + gone, asked=ring.asked)
        case "reopen":
            return _told(ring, dict.fromkeys({run.writer for run in ring.runs}, "gone"), seq)
        case _:
            return ring


def _told(ring: Ring, told: Mapping[int, str], seq: int) -> Ring:
    """The ring once it is known how the open runs of some writers have ended."""
    runs, exact = [], ring.exact
    for run in ring.runs:
        how = told.get(run.writer, "open")
        if run.ended is None and how != "open":
            run = replace(run, ended=seq, certain=how == "stored")  # noqa: PLW2901 - the same, later
            exact = exact and run.certain
        runs.append(run)
    return replace(ring, runs=tuple(runs), exact=exact)


def _among(runs: Sequence[Run], writer: int, number: int) -> Run | None:
    for run in runs:
        if run.writer == writer and run.first <= number <= run.last:
            return run
    return None


def sequences(elements: Sequence[Element], size: int) -> Iterator[Sequence[Element]]:
    """Pieces of so many, in order."""
    for start in range(0, len(elements), size):
        yield elements[start : start + size]

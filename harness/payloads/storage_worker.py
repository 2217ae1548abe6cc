"""A process that writes stamped rows into a storage, and reads it, as it is told."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import ItemsView, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, assert_never

from harness.model.plain import text_of
from harness.payloads import stamps
from harness.payloads.link import Link
from harness.payloads.points import Points
from harness.ports.clock import now_ns
from harness.ports.storage import Hold, Point, ReplayStorage, RowDefect, Sampled, StorageSetup


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Append batch after batch; the first row has this number.

    Attributes:
        first: of the first row.
        rows: of each batch.
        batches: how many.
        defect: what is wrong with them.
        fault: the fault's id that says so.
    """

    first: int
    rows: int
    batches: int = 1
    defect: RowDefect | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """Sample so many elements."""

    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Let go of the storage, and end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepare:
    """Make batches, and wait."""

    write: Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """Append them without a pause."""


Told = Write | Draw | End | Prepare | Go
Span = tuple[int, int]  # when something began and ended: CLOCK_MONOTONIC in ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """It was done.

    Attributes:
        sampled: what was drawn.
        spans: of what was appended without a pause, when each batch was.
    """

    sampled: Sampled | None = None
    spans: Sequence[Span] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It raised."""

    error: BaseException


class Yielding(dict[str, Any]):
    """Columns; whoever goes through them lets others run half-way: a quick storage is done before they come."""

    _taken = 0

    def __getitem__(self, key: str) -> Any:
        """Take one."""
        self._taken += 1
        if self._taken % len(self) == len(self) // 2:
            os.sched_yield()
        return super().__getitem__(key)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # a view like dict's
        """Views come by each."""
        return ItemsView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # a view like dict's
        """Views come by each."""
        return ValuesView(self)


class Writer:
    """Writes a worker's rows, in whichever process."""

    def __init__(
        self, storage: ReplayStorage, worker: int, setup: StorageSetup, link: Link
    ) -> None:
        self._storage = storage
        self._worker = worker
        self._setup = setup
        self._link = link
        self._role = f"worker:{worker}"
        self._prepared: list[dict[str, Any]] = []

    def write(self, told: Write, points: Points | None = None) -> None:
        """Append what was asked for."""
        for batch in range(told.batches):
            columns = self._batch(told.first + batch * told.rows, told.rows)
            if told.defect is not None:
                columns = stamps.spoilt(columns, told.defect)
            if points is not None:
                points.begin()
                self._link.observe(self._role, "extend")
                self._link.pass_gate(self._role, "extend")
            if told.defect is not None:
                detail = f"a batch of {told.rows} rows has {told.defect}"
                self._link.tell(self._role, "bad_rows", told.fault, "effect", detail=detail)
            self._storage.extend(columns)

    def prepare(self, told: Write) -> None:
        """Make what is to be appended."""
        numbers = range(told.first, told.first + told.batches * told.rows, told.rows)
        self._prepared = [self._batch(first, told.rows) for first in numbers]

    def go(self, points: Points) -> list[Span]:
        """Append it, and do nothing else between two batches."""
        spans: list[Span] = []
        self._link.observe(self._role, "extend")
        for columns in self._prepared:
            points.begin()
            self._link.pass_gate(self._role, "extend")
            began = now_ns()
            self._storage.extend(Yielding(columns))
            spans.append((began, now_ns()))
        return spans

    def draw(self, told: Draw, points: Points) -> Sampled:
        """Sample."""
        points.begin()
        self._link.observe(self._role, "sample")
        self._link.pass_gate(self._role, "sample")
        return self._storage.sample(told.size)

    def _batch(self, first: int, rows: int) -> dict[str, Any]:
        setup = self._setup
        shape = (rows, setup.width) if setup.dims == 2 else (rows,)
        return stamps.rows_of(self._worker, first, shape, setup.rows, setup.horizon)


def serve(
    end: Connection,
    storage: ReplayStorage,
    worker: int,
    setup: StorageSetup,
    link: Link,
    holds: Mapping[Point, Hold],
) -> None:
    """Say that one is ready, then do what is asked for until the end; what raises is answered."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # a parallel operation in a forked process hangs
    points = Points(link, f"worker:{worker}", holds)
    writer = Writer(storage, worker, setup, link)
    end.send(Done())
    while True:
        told: Told = end.recv()
        try:
            match told:
                case Write():
                    writer.write(told, points)
                    answer: Done | Failed = Done()
                case Prepare():
                    writer.prepare(told.write)
                    answer = Done()
                case Go():
                    answer = Done(spans=writer.go(points))
                case Draw():
                    answer = Done(sampled=writer.draw(told, points))
                case End():
                    storage.close()
                    answer = Done()
                case _:
                    assert_never(told)
            end.send(answer)  # pickled first: what has no pickle leaves the line as it was
        except Exception as error:  # noqa: BLE001 - whatever the backend raises is what is judged
            end.send(Failed(error=_portable(error)))
        if isinstance(told, End):
            return


def _portable(error: Exception) -> BaseException:
    """The error, or one that says the same where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - an error that somebody else has written may raise anything here
        return RuntimeError(f"{type(error).__name__}: {text_of(error)}")
    return error

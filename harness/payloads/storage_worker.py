"""A process that writes stamped rows into a storage, and reads it, as it is told."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, assert_never

from harness.model.plain import text_of
from harness.payloads import stamps
from harness.payloads.link import Link
from harness.payloads.points import Points
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


Told = Write | Draw | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """It was done; what was drawn."""

    sampled: Sampled | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It raised."""

    error: BaseException


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

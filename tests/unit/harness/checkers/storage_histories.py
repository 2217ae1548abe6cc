"""Histories of a storage: an honest ring that is written and read in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.model.history import Event, History
from tests.unit.harness.checkers.histories import Recorder

Row = tuple[int, int]  # writer and number


@dataclass(slots=True)
class HonestRing:
    """Writes and reads as a storage that has no bugs; tests change what it says."""

    capacity: int = 6
    setup: dict[str, Any] = field(default_factory=dict)
    recorder: Recorder = field(default_factory=lambda: Recorder("storage"))
    rows: list[Row] = field(default_factory=list)
    next: dict[int, int] = field(default_factory=dict)

    def invoke(self, rows: int, writer: int = 0, **arguments: Any) -> tuple[Event, list[Row]]:
        first = self.next.get(writer, 1)
        self.next[writer] = first + rows
        write = {"writer": writer, "first": first, "rows": rows, "batches": 1}
        invoked = self.recorder.invoke("extend", writes=[write], until="stored", **arguments)
        return invoked, [(writer, first + i) for i in range(rows)]

    def extend(self, rows: int, writer: int = 0, ended: str = "stored", **arguments: Any) -> None:
        invoked, new = self.invoke(rows, writer, **arguments)
        self.recorder.ok(invoked, ended=[ended])
        if ended == "stored":
            self.rows += new

    def slots(self) -> dict[int, Row]:
        return {i % self.capacity: row for i, row in enumerate(self.rows)}

    def told(self) -> list[dict[str, Any]]:
        return [
            {"stream": writer, "number": number, "slot": [slot, 0]}
            for slot, (writer, number) in sorted(self.slots().items())
        ]

    def read(self, rows: Sequence[dict[str, Any]] | None = None, **result: Any) -> None:
        rows = self.told() if rows is None else rows
        said = {"length": len(rows), "shape": [len(rows)], "rows": list(rows), **result}
        self.recorder.ok(self.recorder.invoke("read_all"), **said)

    def sample(self, *rows: Row, size: int | None = None, **more: Any) -> None:
        told = [{"stream": writer, "number": number, **more} for writer, number in rows]
        self.recorder.ok(self.recorder.invoke("sample", size=size or len(rows)), rows=told)

    def race(self, *rows: Row, size: int, samples: int) -> None:
        """Of which the writers have written nothing."""
        told = [{"stream": writer, "number": number} for writer, number in rows]
        invoked = self.recorder.invoke("race", writes=[], size=size)
        self.recorder.ok(invoked, ended=[], samples=samples, rows=told)

    def history(self) -> History:
        found = self.recorder.history()
        setup = {
            "capacity": self.capacity,
            "dims": 1,
            "width": 1,
            "sampler": "uniform",
            "slice_len": 3,
            "horizon": 5,
            **self.setup,
        }
        return History(
            component="storage",
            setup=setup,
            expect=("survives",),
            verbs=found.verbs,
            events=found.events,
            ending=found.ending,
        )

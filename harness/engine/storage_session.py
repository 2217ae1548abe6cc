"""Runs the verbs of the storage port: what writers are told, and what of the storage is read."""

from __future__ import annotations

import gc
import shutil
import tempfile
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from harness.engine import census, storage_race, storage_workers, temporary
from harness.engine.loader import backend_of
from harness.engine.session import Session
from harness.engine.storage_workers import Worker, WriterGone
from harness.payloads import stamps
from harness.payloads.points import problems
from harness.payloads.storage_worker import Draw, Write, Writer
from harness.ports import storage as port
from harness.ports.clock import Deadline

RACE_SAMPLES_MAX = 400  # of which each element is journalled


class StorageSession(Session):
    """One storage with its writers."""

    _storage: Any = None
    _spoilt: tuple[str, port.RowDefect] | None = None
    _directory: str | None = None
    _kept: str | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = backend_of(self.request.adapter).storage
        assert found is not None
        self._port = found
        asked = set(self.link.gated)
        holds = {op: hold for op, hold in found.holds.items() if op in asked}
        wrong = next(problems(holds, found.capabilities.worker_ops & asked), None)
        if wrong is not None:
            raise TypeError(wrong)  # ahead of all calls: it is no failure of the backend

    def subject(self) -> object:
        """The session itself: it has the storage and whoever writes it."""
        return self

    def worker_pids(self) -> list[int]:
        """The writers' processes, by writer; empty where the driver writes."""
        return [worker.pid for worker in self._workers]

    def open(self) -> None:
        """Build the storage, then start its writers."""
        self._workers: list[Worker] = []
        self._setup = self.scaled_setup(port.StorageSetup)
        waiting = [verb.within_s for verb in self.request.verbs() if _waits(verb)]
        self._within_s = min(waiting, default=5.0)
        self._next = [1] * self._setup.num_workers
        self._sampled: Any = None
        if self._setup.medium == "disk":
            self._directory = self._new_directory()
        self._build()

    def drop(self) -> None:
        """Forget it."""
        self._storage = None
        self._writers: list[Writer] = []

    def arguments(self, verb: Any) -> dict[str, Any]:
        """Which rows are written."""
        match verb:
            case port.Extend():
                defect = self._spoilt[1] if self._spoilt is not None else None
                first = self._take_numbers(verb.writer, verb.rows)
                batch = {"writer": verb.writer, "first": first, "rows": verb.rows, "batches": 1}
                return {"writes": [batch], "until": verb.until, "defect": defect}
            case port.Race():
                rows = verb.rows * verb.batches
                writes = [
                    {
                        "writer": writer,
                        "first": self._take_numbers(writer, rows),
                        "rows": verb.rows,
                        "batches": verb.batches,
                    }
                    for writer in range(self._setup.num_workers)
                ]
                return {"writes": writes, "size": verb.size, "meets": verb.meets}
            case port.Collect() | port.ReplaceWriter():
                return {"writer": verb.writer}
            case port.Sample():
                return {"size": verb.size, "by": verb.by}
            case port.Reopen():
                return {"how": verb.how}
            case _:
                return {}

    def perform(self, verb: Any, arguments: dict[str, Any]) -> dict[str, Any]:  # noqa: C901, PLR0912 - one case a verb
        """Call the backend, here or in a writer."""
        match verb:
            case port.Extend():
                return self._extend(verb, arguments)
            case port.Collect():
                return self._ended(verb.writer)
            case port.Race():
                return self._race(verb, arguments["writes"])
            case port.Sample():
                return self._sample(verb)
            case port.ReadAll():
                return self._read_all()
            case port.ReplaceWriter():
                storage_workers.finish(self._workers[verb.writer : verb.writer + 1], self._end_by())
                self._workers[verb.writer] = self._worker(verb.writer)
                self._workers[verb.writer].answer()
            case port.SetPriorities():
                slots = list(self._sampled or ())
                self._storage.set_priorities(slots, [1.0 + i % 3 for i in range(len(slots))])
            case port.Empty():
                self._storage.empty()
            case port.Dump():
                self._kept = self._kept or self._new_directory()
                self._storage.dump(str(Path(self._kept) / "kept"))
            case port.Load():
                self._load()
            case port.Reopen():
                self._reopen(kill=verb.how == "killed")
            case port.Shutdown():
                self._close()
            case _:
                raise AssertionError(f"no such verb: {verb!r}")
        return {}

    def spoil_next_send(self, fault: str, defect: str) -> None:
        """Have the next batch be one that does not fit."""
        self._spoilt = (fault, defect)  # type: ignore[assignment]  # the port's faults say which there are

    # Building.

    def _build(self) -> None:
        self._make()
        self._start()

    def _make(self) -> None:
        self._storage = self._port.make(self._setup, self._directory)
        self.allow(self._storage, self._within_s)

    def _start(self) -> None:
        count = range(self._setup.num_workers)
        self._writers = [Writer(self._storage, each, self._setup, self.link) for each in count]
        if self._setup.writers == "process":
            for each in count:
                self._workers.append(self._worker(each))
            for worker in self._workers:
                worker.answer()

    def _worker(self, worker: int) -> Worker:
        return Worker(self._storage, worker, self._setup, self.link, self._port.holds)

    def _new_directory(self) -> str:
        """In this cell's own shared memory, if it has one, so that its disk can be full."""
        return tempfile.mkdtemp(
            prefix=f"{temporary.OWN}storage-", dir=census.SHM if self._own_shm else None
        )

    def _close(self) -> None:
        self._finish()
        storage, self._storage = self._storage, None
        if storage is not None:
            storage.close()

    def _release(self) -> dict[str, Any]:
        """Forget the storage; what is ours, writers and directories, goes with it, closed or not."""
        self._finish()
        found = super()._release()
        for directory in (self._directory, self._kept):
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
        return found

    def _finish(self, *, kill: bool = False) -> None:
        workers, self._workers, self._writers = self._workers, [], []
        storage_workers.finish(workers, self._end_by(), kill=kill)

    def _end_by(self) -> Deadline:
        return Deadline.after(storage_workers.END_S * self.request.time_scale)

    def _reopen(self, *, kill: bool) -> None:
        self._finish(kill=kill)
        if not kill:
            self._storage.close()
        self.drop()
        gc.collect()
        self._build()

    def _load(self) -> None:
        self._finish()
        self._storage.close()
        self.drop()
        gc.collect()
        if self._setup.medium == "disk":
            shutil.rmtree(str(self._directory), ignore_errors=True)
            self._directory = self._new_directory()
        self._make()
        self._storage.load(str(Path(str(self._kept)) / "kept"))
        self._start()

    # Writing.

    def _take_numbers(self, writer: int, rows: int) -> int:
        first = self._next[writer]
        self._next[writer] += rows
        return first

    def _extend(self, verb: port.Extend, arguments: dict[str, Any]) -> dict[str, Any]:
        (batch,) = arguments["writes"]
        told = Write(first=batch["first"], rows=verb.rows)
        if self._spoilt is not None:
            told = replace(told, fault=self._spoilt[0], defect=self._spoilt[1])
            self._spoilt = None
        if not self._workers:
            self._writers[verb.writer].write(told)
            return {"ended": ["stored"]}
        worker = self._workers[verb.writer]
        worker.tell(told)
        deadline = Deadline.after(verb.within_s * self.request.time_scale)
        there = {"held": self._is_held, "stopped": worker.is_stopped}.get(verb.until)
        if there is not None and worker.comes_to(there, deadline):
            return {"ended": ["open"]}
        return self._ended(verb.writer)

    def _is_held(self) -> bool:
        """Whether the last stall holds somebody."""
        stalls = [fault for fault in self._armed if fault.fault == "stall"]
        return bool(stalls) and self.gate.is_held(stalls[-1].id)

    def _ended(self, writer: int) -> dict[str, Any]:
        """How what a writer was told has ended.

        Raises:
            Exception: what the backend raised there.
        """
        try:
            self._workers[writer].answer()
        except WriterGone:
            return {"ended": ["gone"]}
        return {"ended": ["stored"]}

    def _race(self, verb: port.Race, writes: list[dict[str, Any]]) -> dict[str, Any]:
        told = [Write(first=each["first"], rows=verb.rows, batches=verb.batches) for each in writes]
        samples: list[list[dict[str, Any]]] = []

        def sample() -> None:
            sampled = self._storage.sample(verb.size)
            if len(samples) < RACE_SAMPLES_MAX:
                samples.append(self._elements(sampled))

        if self._workers:
            ended, met = storage_race.run(self._workers, told, sample if verb.sampled else None)
            found: dict[str, Any] = {"ended": ended, "met": met}
        else:
            found = {"ended": ["stored"] * len(told)}
            for writer, each in zip(self._writers, told, strict=True):
                writer.write(each)
                if verb.sampled:
                    sample()
        return {**found, "samples": len(samples), "rows": list(chain.from_iterable(samples))}

    # Reading.

    def _sample(self, verb: port.Sample) -> dict[str, Any]:
        if verb.by == "driver" or not self._workers:
            sampled = self._storage.sample(verb.size)
        else:
            worker = self._workers[int(verb.by.partition(":")[2])]
            worker.tell(Draw(size=verb.size))
            try:
                sampled = worker.answer().sampled
            except WriterGone:
                return {"gone": True, "rows": []}
        self._sampled = sampled.slots
        return {"rows": self._elements(sampled)}

    def _elements(self, sampled: port.Sampled) -> list[dict[str, Any]]:
        rows = stamps.read(sampled.columns, self._setup.rows, self._setup.horizon)
        for row, slot in zip(rows, sampled.slots or (), strict=False):
            row["slot"] = [int(place) for place in slot]
        return rows

    def _read_all(self) -> dict[str, Any]:
        found = self._storage.read_all()
        setup = self._setup
        rows = stamps.read(found.columns, setup.rows, setup.horizon, setup.dims)
        shape = list(stamps.lead_of(found.columns, setup.dims))
        width = shape[1] if len(shape) > 1 else 1
        for i, row in enumerate(rows):
            row["slot"] = [int(found.slots[i // width]), i % width]
        return {"length": int(found.length), "shape": shape, "rows": rows}


def _waits(verb: Any) -> bool:
    """Whether a call may wait for other writers: one that returns while its own is held does not."""
    return verb.do != "shutdown" and getattr(verb, "until", "stored") == "stored"

"""A writer's process: it does what it is told, and says how that ended."""

from __future__ import annotations

import threading
from multiprocessing import Pipe
from typing import Any, ClassVar

import pytest

from harness.payloads.link import SilentLink
from harness.payloads.stamps import read
from harness.payloads.storage_worker import (
    Done,
    Draw,
    End,
    Failed,
    Go,
    Prepare,
    Write,
    Yielding,
    serve,
)
from harness.ports.storage import Columns, Sampled, StorageSetup, Stored
from tests.patience import PATIENCE_S

SETUP = StorageSetup(width=2, dims=2)


class Local(Exception):  # noqa: N818 - it is nobody's error
    """One that cannot be pickled by its arguments."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


class Memory:
    """Keeps batches; refuses what it is told to."""

    def __init__(self) -> None:
        self.batches: list[Columns] = []
        self.refusing: Exception | None = None
        self.closed = False

    def extend(self, columns: Columns) -> None:
        if self.refusing is not None:
            raise self.refusing
        self.batches.append(columns)

    def sample(self, size: int) -> Sampled:
        return Sampled(slots=[[size]], columns={})

    def read_all(self) -> Stored:
        raise NotImplementedError

    def close(self) -> None:
        self.closed = True


class Gated(SilentLink):
    gated: tuple[str, ...] = ()
    told: ClassVar[list[tuple[str, str]]] = []

    def tell(self, _role: str, _op: str, fault: str, record: str, **_data: Any) -> None:
        self.told.append((fault, record))


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def end(memory):
    ours, theirs = Pipe()
    # In a thread: what a process would do is the same.
    served = threading.Thread(  # noqa: TID251 - it is joined below
        target=serve, args=(theirs, memory, 1, SETUP, Gated(), {})
    )
    served.start()
    assert ours.recv() == Done()
    yield ours
    if not memory.closed:
        ours.send(End())
    served.join(PATIENCE_S)
    ours.close()
    theirs.close()


def test_batches_are_written_one_behind_the_other(end, memory):
    end.send(Write(first=4, rows=2, batches=2))
    assert end.recv() == Done()
    told = [
        [(e["stream"], e["number"]) for e in read(b, "plain", 5, SETUP.dims)]
        for b in memory.batches
    ]
    assert told == [[(2, 4), (3, 4), (2, 5), (3, 5)], [(2, 6), (3, 6), (2, 7), (3, 7)]]


def test_what_was_prepared_is_written_once_it_may_go(end, memory):
    end.send(Prepare(write=Write(first=4, rows=2, batches=2)))
    assert end.recv() == Done()
    assert memory.batches == []
    end.send(Go())
    (began, ended), (after, _) = end.recv().spans
    assert began <= ended <= after
    told = [[e["number"] for e in read(b, "plain", 5, SETUP.dims)] for b in memory.batches]
    assert told == [[4, 4, 5, 5], [6, 6, 7, 7]]


def test_raced_columns_let_others_run_once_a_pass(monkeypatch):
    let: list[int] = []
    monkeypatch.setattr("os.sched_yield", lambda: let.append(1))
    columns = Yielding(a=1, b=2, c=3)
    assert list(columns.items()) == [("a", 1), ("b", 2), ("c", 3)]
    assert let == [1]
    assert list(columns.values()) == [1, 2, 3]
    assert [columns[key] for key in columns] == [1, 2, 3]
    assert (let, len(columns.items())) == ([1, 1, 1], 3)


def test_what_was_drawn_is_answered(end):
    end.send(Draw(size=3))
    assert end.recv().sampled == Sampled(slots=[[3]], columns={})


@pytest.mark.parametrize(
    ("error", "kind"), [(ValueError("no"), ValueError), (Local("a", "b"), RuntimeError)]
)
def test_what_it_raised_is_answered_and_it_goes_on(end, memory, error, kind):
    memory.refusing = error
    end.send(Write(first=1, rows=1))
    answer = end.recv()
    assert isinstance(answer, Failed)
    assert type(answer.error) is kind
    memory.refusing = None
    end.send(Write(first=2, rows=1))
    assert end.recv() == Done()


def test_a_spoilt_batch_is_what_was_asked_for_and_its_effect_is_seen_where_it_is_written(
    end, memory
):
    Gated.told.clear()
    end.send(Write(first=1, rows=1))
    assert end.recv() == Done()
    assert Gated.told == []
    end.send(Write(first=2, rows=1, defect="missing_key", fault="f1"))
    assert end.recv() == Done()
    assert "body" not in memory.batches[1]
    assert Gated.told == [("f1", "effect")]


def test_it_ends_when_it_is_told_to(end, memory):
    end.send(End())
    assert end.recv() == Done()
    assert memory.closed

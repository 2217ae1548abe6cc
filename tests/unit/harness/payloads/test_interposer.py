"""An interposer asks at every transfer, and does to the item what it is told."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import pytest

from harness.payloads.ends import Pairs, name_of
from harness.payloads.interposer import MULTIPROCESSING, install
from harness.payloads.link import ProbeError
from harness.ports.backend import Hook
from tests.patience import PATIENCE_S

Pair = tuple[Connection, Connection]
GO = {"op": "go", "counted": True}
OTHER = {"op": "go", "counted": False}


class Line:
    """Answers at the first transfer this way through this end, and keeps what it is told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.order: dict[str, Any] = {}
        self.records: list[tuple[str, str]] = []
        self.others: set[str] = set()

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((question["transfer"], question["end"]))
        if question["transfer"] != self.order.get("way"):
            return OTHER if question["end"] in self.others else GO
        order, self.order = self.order, {}
        return order

    def tell(self, _role: str, _op: str, _fault: str, record: str, **data: Any) -> None:
        self.records.append((record, str(data["detail"])))

    def strike(self, op: str, way: str = "put", **details: Any) -> None:
        self.order = {"op": op, "way": way, "fault": "f1", "k": 1, "worker": 0, **details}
        self.order |= {"role": "worker:0", "other": "driver"}


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    for name in ("_send_bytes", "_recv_bytes"):
        monkeypatch.setattr(Connection, name, getattr(Connection, name))
    found = Line()
    install(MULTIPROCESSING, found)  # type: ignore[arg-type] # as much of a link as it needs
    return found


@pytest.fixture
def pipe() -> Iterator[Pair]:
    ours, theirs = Pipe()
    yield ours, theirs
    ours.close()
    theirs.close()


def send(end: Connection, *items: object) -> None:
    for item in items:
        end.send(item)


def received(end: Connection) -> list[object]:
    found = []
    while end.poll():
        found.append(end.recv())
    return found


def test_it_asks_at_puts_and_gets_by_the_end_that_each_goes_through(line: Line, pipe: Pair):
    ours, theirs = pipe
    theirs.send(1)
    ours.recv()
    assert line.asked == [("put", name_of(theirs)), ("get", name_of(ours))]


def test_an_empty_poll_is_no_transfer(line: Line, pipe: Pair):
    assert not pipe[0].poll()
    assert line.asked == []


def test_what_is_hooked_already_is_not_hooked_again(line: Line, pipe: Pair):
    second = Line()
    install(MULTIPROCESSING, second)  # type: ignore[arg-type] # as much of a link as it needs
    pipe[0].send(1)
    assert (len(line.asked), second.asked) == (1, [])


def test_where_all_is_hooked_nothing_more_is_done_at_forks(
    line: Line, monkeypatch: pytest.MonkeyPatch
):
    registered: list[object] = []
    monkeypatch.setattr(os, "register_at_fork", lambda **given: registered.append(given))
    install(MULTIPROCESSING, line)  # type: ignore[arg-type] # as much of a link as it needs
    assert registered == []


def test_a_dropped_item_does_not_arrive(line: Line, pipe: Pair):
    line.strike("drop_transfer")
    send(pipe[0], "lost", "next")
    assert received(pipe[1]) == ["next"]
    assert [record for record, _ in line.records] == ["reached", "effect"]


def test_a_duplicated_item_arrives_twice(line: Line, pipe: Pair):
    line.strike("duplicate_transfer")
    send(pipe[0], "first", "next")
    assert received(pipe[1]) == ["first", "first", "next"]
    assert [record for record, _ in line.records] == ["reached", "effect"]


def test_a_reordered_item_arrives_after_the_next_one_whichever_channel_that_takes(line, pipe):
    other, end = Pipe()
    with other, end:
        line.strike("reorder_transfer", seconds=60.0)
        pipe[0].send("late")
        assert not pipe[1].poll()
        assert [record for record, _ in line.records] == ["reached"]
        other.send("next")
        assert received(end) == ["next"]
    assert received(pipe[1]) == ["late"]
    assert [record for record, _ in line.records] == ["reached", "effect"]


def test_what_goes_through_other_channels_is_not_what_a_reordered_item_waits_for(line, pipe):
    other, end = Pipe()
    line.others = {name_of(other)}
    with other, end:
        line.strike("reorder_transfer", seconds=60.0)
        pipe[0].send("late")
        other.send("next")
        assert not pipe[1].poll()
        pipe[0].send("next")
    assert received(pipe[1]) == ["next", "late"]


def test_a_reordered_item_after_which_nothing_comes_is_late_without_effect(line: Line, pipe: Pair):
    line.strike("reorder_transfer", seconds=0.0)
    pipe[0].send("late")
    assert pipe[1].recv() == "late"
    assert [record for record, _ in line.records] == ["reached"]


def test_a_put_that_fails_puts_nothing(line: Line, pipe: Pair):
    line.strike("fail_transfer")
    with pytest.raises(OSError, match=r"fail_transfer \(f1\)"):
        pipe[0].send("lost")
    assert received(pipe[1]) == []


def test_a_get_that_fails_has_taken_the_item(line: Line, pipe: Pair):
    send(pipe[0], "lost", "next")
    line.strike("fail_transfer", way="get")
    with pytest.raises(OSError, match=r"fail_transfer \(f1\)"):
        pipe[1].recv()
    assert received(pipe[1]) == ["next"]


def test_a_delayed_item_arrives_all_the_same(line: Line, pipe: Pair):
    line.strike("delay_transfer", seconds=0.0)
    pipe[0].send("late")
    assert received(pipe[1]) == ["late"]
    assert line.records[-1] == ("effect", "it took 0 s more")


@pytest.mark.parametrize(
    ("op", "error"),
    [("unrebuildable_item", ProbeError), ("truncate_transfer", pickle.UnpicklingError)],
)
def test_a_broken_item_raises_where_it_is_rebuilt_and_harms_no_other(
    monkeypatch, line, pipe, op, error
):
    monkeypatch.setattr("harness.payloads.broken.Broken.__reduce__", _local(line))
    line.strike(op)
    send(pipe[0], "a message that is long enough to be cut in half", "next")
    with pytest.raises(error):
        pipe[1].recv()
    assert received(pipe[1]) == ["next"]


LINES: list[Line] = []


def _local(line: Line) -> Any:
    """The links of these tests do not pickle."""
    LINES[:] = [line]
    return lambda broken: (_rebuild_here, (broken.op, broken.fault, broken.role, broken.half))


def _rebuild_here(op: str, fault: str, role: str, half: bytes | None) -> Any:
    from harness.payloads.broken import _rebuild

    return _rebuild(LINES[0], op, fault, role, half)  # type: ignore[arg-type] # as much of a link as it needs


def test_an_end_that_is_cut_sends_no_more_and_its_peer_meets_the_end(line: Line, pipe: Pair):
    line.strike("cut_channel")
    with pytest.raises(OSError, match="Bad file descriptor"):
        pipe[0].send("lost")
    with pytest.raises(EOFError):
        pipe[1].recv()
    assert line.records[-1] == ("effect", "its end leads nowhere")


def test_a_torn_item_arrives_in_half_and_its_sender_is_dead(line: Line, pipe: Pair):
    line.strike("tear_transfer")
    context = multiprocessing.get_context("fork")  # noqa: TID251 - it is to be killed, and is joined below
    sender = context.Process(target=send, args=(pipe[0], "x" * 100))
    sender.start()
    sender.join(PATIENCE_S)
    pipe[0].close()
    assert sender.exitcode == -9
    assert 0 < len(os.read(pipe[1].fileno(), 4096)) < 100
    sender.close()


def test_a_hook_that_names_nothing_is_an_error():
    with pytest.raises(ImportError, match="no_such_function"):
        install([Hook(target="os:no_such_function", transfer="get")], Line())  # type: ignore[arg-type] # not used


def test_the_ends_of_a_simple_pipe_have_one_name():
    reader, writer = Pipe(duplex=False)
    with reader, writer:
        assert name_of(reader) == name_of(writer) == name_of(reader.fileno())


def test_the_ends_of_a_duplex_pipe_are_told_by_whoever_saw_it_made(monkeypatch):
    monkeypatch.setattr("multiprocessing.connection.Pipe", multiprocessing.connection.Pipe)
    pairs = Pairs()
    pairs.watch()
    one, other = Pipe()
    with one, other:
        assert name_of(one) != name_of(other)
        assert pairs.other(name_of(one)) == name_of(other)
        assert pairs.other(name_of(other)) == name_of(one)


def test_a_bare_doorbell_is_refused():
    bell = os.eventfd(0)
    with os.fdopen(bell), pytest.raises(ValueError, match="neither a pipe nor a socket"):
        name_of(bell)


def test_what_has_no_pipe_is_told_by_itself():
    one, other = object(), object()
    assert name_of(one) == name_of(one) != name_of(other)

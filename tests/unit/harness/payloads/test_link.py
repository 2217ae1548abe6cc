"""A probe does what the gate tells it, at the point where it asks, and says so."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.payloads import link as links
from harness.payloads.link import Link, ProbeError


class Answering:
    """A gate that gives one answer to its first question."""

    def __init__(self, directory: Path, **answer: Any) -> None:
        self.journal = directory / "journal.jsonl"
        self.journal.touch()
        self._answer = {"fault": "f1", "leaves": False, **answer}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        address = f"@link-test-{os.getpid()}-{id(self)}"
        self._listener.bind("\0" + address[1:])
        self._listener.listen(1)
        self.link = Link(journal=str(self.journal), gate=address, gated=("step",))

    def in_a_child(self, act: Callable[[], object]) -> int:
        """The status of a forked process that does this and then exits with 0."""
        pid = os.fork()  # noqa: TID251 - who is told to leave is this child
        if pid == 0:
            self._listener.close()
            code = 70
            try:
                act()
                code = 0
            except SystemExit as leaving:
                code = leaving.code if isinstance(leaving.code, int) else 71
            except ProbeError:
                code = 72
            finally:
                os._exit(code)
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(10.0)
            self.question = json.loads(connection.recv(4096))
            connection.sendall(json.dumps(self._answer).encode() + b"\n")
            found, status = os.waitpid(pid, os.WUNTRACED)
            assert found == pid
            if os.WIFSTOPPED(status):
                os.kill(pid, signal.SIGCONT)
                self.stopped_by = os.WSTOPSIG(status)
                _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status)

    def records(self) -> list[str]:
        lines = map(json.loads, self.journal.read_text().splitlines())
        return [line["data"]["record"] for line in lines]

    def step(self) -> None:
        self.link.pass_gate("worker:1", "step")

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def told(tmp_path: Path):
    made: list[Answering] = []

    def make(**answer: Any) -> Answering:
        made.append(Answering(tmp_path, **answer))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_probe_that_is_told_to_fail_raises(told):
    gate = told(order="raise")
    assert gate.in_a_child(gate.step) == 72
    assert gate.records() == ["reached", "effect"]


def test_a_probe_that_is_told_to_leave_raises_an_exit_with_its_code(told):
    gate = told(order="exit", how="sys_exit", code=3, leaves=True)
    assert gate.in_a_child(gate.step) == 3
    assert gate.records() == ["reached"]


def test_a_probe_that_is_told_to_leave_at_once_is_gone_with_its_code(told):
    gate = told(order="exit", how="os_exit", code=4, leaves=True)
    assert gate.in_a_child(gate.step) == 4
    assert gate.records() == ["reached"]


def test_an_exit_that_ends_no_process_has_its_effect_when_it_is_raised(told):
    gate = told(order="exit", how="sys_exit", code=3, leaves=False)
    assert gate.in_a_child(gate.step) == 3
    assert gate.records() == ["reached", "effect"]


@pytest.mark.parametrize("name", ["KILL", "TERM"])
def test_a_signal_ends_the_process_at_this_very_point(told, name: str):
    number = signal.Signals[f"SIG{name}"]
    gate = told(order="signal", signal=int(number))
    assert gate.in_a_child(gate.step) == -number


def test_a_probe_that_ignores_the_signal_goes_on(told):
    gate = told(order="signal", signal=int(signal.SIGTERM))

    def deafly() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        gate.step()

    assert gate.in_a_child(deafly) == 0


def test_a_process_that_was_stopped_goes_on_where_it_was(told):
    gate = told(order="signal", signal=int(signal.SIGSTOP))
    assert gate.in_a_child(gate.step) == 0
    assert gate.stopped_by == signal.SIGSTOP


def test_a_probe_says_whether_it_is_in_a_thread(told):
    gate = told(order="go")

    def in_a_thread() -> None:
        thread = threading.Thread(target=gate.step)  # noqa: TID251 - it is joined
        thread.start()
        thread.join()

    gate.in_a_child(in_a_thread)
    assert gate.question["thread"]


@pytest.mark.parametrize(("defect", "marked"), [("unpicklable", True), ("shape", False)])
def test_who_is_told_to_spoil_a_reply_gets_the_order_and_says_so(told, defect, marked):
    gate = told(order="spoil", defect=defect)

    def spoil() -> None:
        spoilt = gate.link.pass_gate("worker:1", "step")
        assert spoilt is not None
        assert (spoilt.fault, spoilt.defect) == ("f1", defect)
        gate.link.record_effect("worker:1", spoilt)

    assert gate.in_a_child(spoil) == 0
    assert gate.records() == ["reached", "effect"]
    first = json.loads(gate.journal.read_text().splitlines()[0])
    assert ("marker" in first["data"]) == marked


def test_a_probe_is_heard_where_its_process_may_open_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(links, "_HERE", links._Process(pid=os.getpid()))
    path = tmp_path / "journal.jsonl"
    path.touch()
    link = Link(journal=str(path), gate=f"@nobody-{os.getpid()}", gated=("step",))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        link.observe("worker:0", "step")
        assert link.ask({"op": "step"}) == {}  # nobody is there to answer
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (free, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for fd in link.own_fds():
            os.close(fd)
    assert json.loads(path.read_text())["op"] == "step"

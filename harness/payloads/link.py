"""A probe's line to its cell: it journals what it sees, and asks at sequence points what to do.

A link pickles. It opens the journal and connects to the gate at its first use in each process, so
that it survives fork, spawn, `deepcopy` and cloudpickle; whoever holds the gate sees the end of
the connection when the process dies.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.model.gate import ReplyDefect
from harness.model.history import EVENT_SCHEMA

_T = TypeVar("_T")
HOLD_BOUND_S = 120.0  # an abandoned probe goes on by itself; longer than a call may be open


class ProbeError(RuntimeError):
    """What a probe raises when it is told to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoilt:
    """An order to spoil the reply that comes next: what is wrong with it, and words to know it by."""

    fault: str
    defect: ReplyDefect
    marker: str


_OF_THE_DRIVER = False


def this_is_the_driver() -> None:
    """Mark this process: what is forked from it inherits the mark, and no new interpreter has it."""
    global _OF_THE_DRIVER
    _OF_THE_DRIVER = True


class Journal:
    """Appends events to a file that several processes share, one `write` an event.

    The file is opened with O_APPEND, so that lines of different processes do not mix and a process
    that is killed has lost nothing that it wrote.
    """

    def __init__(self, path: str, role: str) -> None:
        self.role = role
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self.fd = _despite_limits(lambda: os.open(path, flags))

    def write(self, kind: str, op: str, *, request: int | None = None, **data: Any) -> None:
        """Append one event now."""
        self.append(self.line(kind, op, request=request, **data))

    def append(self, line: bytes) -> None:
        """Append what `line` has made."""
        os.write(self.fd, line)

    def line(self, kind: str, op: str, *, request: int | None = None, **data: Any) -> bytes:
        """An event of now.

        Raises:
            TypeError: something in the data has no form in JSON.
            ValueError: it contains itself.
        """
        event = {
            "v": EVENT_SCHEMA,
            "ts": time.monotonic_ns(),
            "pid": os.getpid(),
            "role": self.role,
            "kind": kind,
            "op": op,
            "id": request,
            "data": data,
        }
        return json.dumps(event).encode() + b"\n"


@dataclass(slots=True)
class _Process:
    """What a link has opened in one process."""

    pid: int
    journals: dict[str, Journal] = field(default_factory=dict)
    gates: dict[int, socket.socket | None] = field(default_factory=dict)


_HERE = _Process(pid=0)


def _here() -> _Process:
    """This process's openings; a forked child starts with none of its parent's."""
    global _HERE
    if _HERE.pid != os.getpid():
        _HERE = _Process(pid=os.getpid())
    return _HERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What a probe needs to reach its cell.

    Attributes:
        journal: path of the journal.
        gate: address of the gate; an abstract socket's begins with `@`.
        gated: operations at which the probe has to ask; it does not ask at others.
        hold_s: how long it waits for an answer.
    """

    journal: str
    gate: str
    gated: tuple[str, ...] = ()
    hold_s: float = HOLD_BOUND_S

    def observe(self, role: str, op: str, **data: Any) -> None:
        """Journal that the probe saw itself being called; `fresh`: in an interpreter that is no fork of the driver."""
        fresh = {} if _OF_THE_DRIVER else {"fresh": True}
        self._journal(role).write("observe", op, **data, **fresh)

    def pass_gate(self, role: str, op: str, edge: str = "before") -> Spoilt | None:
        """Ask what to do here, and do it; spoiling the reply is left to the caller.

        Raises:
            ProbeError: the probe was told to fail.
            SystemExit: the probe was told to leave.
        """
        if op not in self.gated:
            return None
        thread = threading.current_thread() is not threading.main_thread()
        answer = self.ask({"role": role, "op": op, "edge": edge, "thread": thread})
        if answer.get("order") == "spoil":
            return self._spoilt(role, op, answer)
        self._obey(role, op, answer)
        connection = self._connection()
        if answer.get("order") == "signal" and connection is not None:
            with contextlib.suppress(OSError):  # the gate is closed: nobody counts any more
                connection.sendall(b'{"survived": true}\n')
        return None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Put a question of this process to the gate; empty if nobody answers."""
        connection = self._connection()
        if connection is None:
            return {}
        answer = _ask(connection, {"pid": os.getpid(), **question})
        if not answer:
            # Nobody answered in time: a late answer must not be taken for the next one.
            connection.close()
            _here().gates[threading.get_ident()] = None
        return answer

    def tell(self, role: str, op: str, fault: str, record: str, **data: Any) -> None:
        """Journal one of a fault's records, as it is seen in this process."""
        self._journal(role).write("fault", op, id=fault, record=record, **data)

    def tell_broken(self, role: str, said: str) -> None:
        """Journal that what an adapter declares is wrong: the cell is no verdict on its backend."""
        self._journal(role).write("note", "broken", traceback=said)

    def record_effect(self, role: str, spoilt: Spoilt) -> None:
        """Journal that the reply is spoilt and about to be handed over, or what was to be pickled is."""
        detail = f"the reply is spoilt: {spoilt.defect}"
        self.tell(role, "bad_reply", spoilt.fault, "effect", detail=detail)

    def own_fds(self) -> set[int]:
        """The descriptors that links opened in this process: a census must not count them."""
        here = _here()
        sockets = {s.fileno() for s in here.gates.values() if s is not None}
        return sockets | {journal.fd for journal in here.journals.values()}

    def _spoilt(self, role: str, op: str, answer: dict[str, Any]) -> Spoilt:
        fault, defect = str(answer["fault"]), answer["defect"]
        marker = f"the reply of {role} to {op} was spoilt ({fault}): {defect}"
        said: dict[str, Any] = (
            {"marker": marker} if defect == "unpicklable" else {}
        )  # others raise nothing themselves
        self.tell(role, "bad_reply", fault, "reached", **_index_of(role), **said)
        return Spoilt(fault=fault, defect=defect, marker=marker)

    def _obey(self, role: str, op: str, answer: dict[str, Any]) -> None:
        order = answer.get("order")
        if order not in ("raise", "exit", "signal"):
            return
        fault = str(answer["fault"])
        told = {"raise": "fail", "exit": "exit", "signal": "signal itself"}[order]
        marker = f"the probe was told to {told} ({fault}) in {op} of {role}"
        said: dict[str, Any] = {} if order == "signal" else {"marker": marker}
        self.tell(role, order, fault, "reached", **_index_of(role), **said)
        if order == "signal":
            _signal_here(int(answer["signal"]))
            return
        if answer.get("how") == "os_exit":
            os._exit(int(answer["code"]))
        if not answer["leaves"]:  # else the gate sees the process leave
            self.tell(role, order, fault, "effect", detail=f"raised in {op}")
        if order == "raise":
            raise ProbeError(marker)
        leaving = SystemExit(marker)
        leaving.code = int(answer["code"])
        raise leaving

    def _journal(self, role: str) -> Journal:
        here = _here()
        if role not in here.journals:
            here.journals[role] = Journal(self.journal, role)
        return here.journals[role]

    def _connection(self) -> socket.socket | None:
        """One connection a thread: two envs in one process must not read each other's answer."""
        here, thread = _here(), threading.get_ident()
        if thread not in here.gates:
            here.gates[thread] = connect(self.gate, self.hold_s)
        return here.gates[thread]


def _index_of(role: str) -> dict[str, Any]:
    """Which worker a role is; nothing if it does not say."""
    index = role.partition(":")[2]
    return {"worker": int(index)} if index else {}


def _despite_limits(opened: Callable[[], _T]) -> _T:
    """Open something of ours also where a fault leaves no descriptors to whom we watch.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        return opened()
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        return opened()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _signal_here(number: int) -> None:
    """Strike this very thread: the signal is delivered before the call returns."""
    signal.pthread_kill(threading.get_ident(), number)
    if number not in (signal.SIGSTOP, signal.SIGTERM):
        signal.pause()  # whoever was to be ended at once does not go beyond this point


def connect(address: str, bound_s: float) -> socket.socket | None:
    """Connect to a gate, waiting `bound_s` for each answer; None if nobody holds it any more."""
    connection = _despite_limits(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    try:
        connection.connect("\0" + address[1:] if address.startswith("@") else address)
    except OSError:
        connection.close()
        return None
    connection.settimeout(bound_s)
    return connection


def _ask(connection: socket.socket, question: dict[str, Any]) -> dict[str, Any]:
    """Send one line and wait for one; empty if nobody answers."""
    with contextlib.suppress(OSError, ValueError):
        connection.sendall(json.dumps(question).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            part = connection.recv(4096)
            if not part:
                break
            line += part
        if line:
            answer = json.loads(line)
            assert isinstance(answer, dict)
            return answer
    return {}


@dataclass(frozen=True, slots=True)
class SilentLink:
    """The link of an env that is not under test: it leads nowhere."""

    def observe(self, role: str, op: str, **data: Any) -> None:
        """Journal nothing."""

    def pass_gate(self, role: str, op: str, edge: str = "before") -> Spoilt | None:
        """Ask nobody: nothing is to be spoilt."""

    def record_effect(self, role: str, spoilt: Spoilt) -> None:
        """Record nothing."""

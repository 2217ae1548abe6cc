"""The backend server: imports its backends once and forks a guardian for every cell.

It never runs a tensor operation and has one thread, so that what it forks starts clean. It speaks
JSON lines over one socket, and ends when the supervisor does.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import json
import os
import selectors
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from harness.engine import census, linux, temporary
from harness.engine.components import COMPONENTS, Component
from harness.engine.guardian import guard
from harness.engine.leaving import Leaving
from harness.engine.loader import backend_of, resolve
from harness.engine.request import NOT_INSTALLED, PROTOCOL, CellRequest
from harness.model.plain import to_plain
from harness.ports.backend import Backend
from harness.ports.clock import Deadline, pause

SETTLE_S = 1.0  # for threads that are over, but still listed


def main(argv: list[str]) -> int:
    """`python -m harness.engine.server FD MODULE:ATTR...`."""
    connection = socket.socket(fileno=int(argv[0]))
    try:
        described = [_describe(_imported(adapter)) for adapter in argv[1:]]
    except Exception as error:  # noqa: BLE001 - the last frame: the supervisor says it in one line
        _say(connection, {"failed": f"{type(error).__name__}: {error}"})
        return 1
    threads = _threads_left()
    if threads != 1:
        _say(connection, {"failed": f"importing it leaves {threads} threads running"})
        return 1
    gc.collect()
    gc.freeze()  # else the first collection of a cell copies every page of the imports
    _say(connection, {"v": PROTOCOL, "backends": described})
    sys.stdout.flush()  # what waits there would be printed by every driver that leaves for real
    try:
        _Server(connection).run()
    except Leaving as leaving:
        way = leaving.way
    else:
        return 0
    way.take()  # this is a driver, at the bottom of its `__main__`
    return 0


def _threads_left() -> int:
    """How many threads there are, once those have gone that are about to end.

    One of a library's own counts like any other: what it holds when a cell is forked nobody there will ever
    give back. (Those of OpenBLAS and OpenMP are not started: the environment asks for one thread.)
    """
    deadline = Deadline.after(SETTLE_S)
    while (found := linux.thread_count()) != 1 and not deadline.expired:
        pause(0.01)
    return found


def _imported(adapter: str) -> Backend:
    backend = backend_of(adapter)
    for component in _components(backend):
        importlib.import_module(component.session.partition(":")[0])
        importlib.import_module(component.payload)
    for module in backend.preload:
        importlib.import_module(module)
    for hook in backend.hooks:
        try:
            resolve(hook.target)
        except ImportError as error:
            raise ImportError(f"{adapter} hooks {hook.target}: {error}") from error
    return backend


def _components(backend: Backend) -> list[Component]:
    return [each for each in COMPONENTS.values() if getattr(backend, each.name) is not None]


def _describe(backend: Backend) -> dict[str, Any]:
    """What the supervisor needs to know of it."""
    return {
        "name": backend.name,
        "version": backend.version(),
        "python": f"{sys.version.split()[0]} {sys.executable}",
        "versions": {name: _version(name) for name in backend.packages},
        "capabilities": {
            component.name: to_plain(getattr(backend, component.name).capabilities)
            for component in _components(backend)
        },
        "problems": _problems(backend),
    }


def _problems(backend: Backend) -> list[str]:
    """What it declares that only its own process can look up: where points are."""
    if backend.storage is None:
        return []
    from harness.payloads.points import problems

    port = backend.storage
    return [f"storage: {each}" for each in problems(port.holds, port.capabilities.worker_ops)]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return NOT_INSTALLED


def _say(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


class _Server:
    """Forks guardians on request and tells when they end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._guardians: dict[int, str] = {}
        self._received = b""

    def run(self) -> None:
        """Until the supervisor hangs up."""
        wakeup, alarm = os.pipe()
        for fd in (wakeup, alarm):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(alarm)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        linux.become_subreaper()
        selector = selectors.DefaultSelector()
        selector.register(self._connection, selectors.EVENT_READ)
        selector.register(wakeup, selectors.EVENT_READ)
        self._selector = selector
        self._alarm = (wakeup, alarm)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if wakeup in ready:
                os.read(wakeup, 4096)
            self._reap()
            if self._connection.fileno() in ready and not self._read():
                return

    def _read(self) -> bool:
        part = self._connection.recv(1 << 20)
        self._received += part
        *lines, self._received = self._received.split(b"\n")
        for line in lines:
            self._start(json.loads(line))
        return bool(part)

    def _start(self, message: dict[str, Any]) -> None:
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            # By their own methods: an object that still holds a number would close it again at exit.
            self._selector.close()
            self._connection.close()
            for fd in self._alarm:
                os.close(fd)
            guard(CellRequest.from_plain(message["request"]), Path(message["directory"]))
        self._guardians[pid] = message["key"]
        _say(self._connection, {"started": message["key"], "pid": pid})

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            key = self._guardians.pop(pid, None)
            if key is None:
                continue  # an orphan of a guardian that was killed
            code = os.waitstatus_to_exitcode(status)
            if code != 0:
                self._end_orphans()
                temporary.remove(pid)
            _say(self._connection, {"ended": key, "code": code})

    def _end_orphans(self) -> None:
        """A guardian that was killed has left its cell to us."""
        orphans = [pid for pid in census.children(os.getpid()) if pid not in self._guardians]
        below = [pid for orphan in orphans for pid in census.descendants(orphan)]
        for pid in (*orphans, *below):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it has just ended


if __name__ == "__main__":
    CODE = main(sys.argv[1:])
    if CODE:
        sys.exit(CODE)

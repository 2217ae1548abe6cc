"""The supervisor's side of a backend server: starts it, talks to it, ends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
from harness.engine.components import COMPONENTS
from harness.engine.request import PROTOCOL, CellRequest
from harness.engine.support import unknown_words, wrong_backend
from harness.engine.usage import UsageError
from harness.model.run import BackendInfo
from harness.ports.clock import Deadline

START_S = 120.0  # a cold import of a large backend on a busy machine
PATIENCE_S = 20.0  # after which whoever waits for it is told so, again and again
END_S = 10.0
RESTARTS_MAX = 3
TEMPORARY_PATH_MAX = 50  # with 45 more, multiprocessing can still bind a socket there (107 bytes)
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A backend as the user names it.

    Attributes:
        name: a registered name, or `module:attr`.
        adapter: `module:attr` of its adapter.
        python: the interpreter it runs in.
        group: backends of one interpreter and group share a server; by itself if empty.
    """

    name: str
    adapter: str
    python: str = sys.executable
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A backend that a server has imported.

    Attributes:
        wanted: as the user named it.
        server: where its cells run.
        info: what it said of itself.
        capabilities: what it declares, by component.
        problems: what it declares that cannot be so: cells that need it are HARNESS-ERROR.
    """

    wanted: Wanted
    server: Server
    info: BackendInfo
    capabilities: Mapping[str, Any]
    problems: tuple[str, ...] = ()


class Server:
    """One or several backends in one interpreter.

    Args:
        wanted: which, all of the same interpreter.
        log: where the server's own output goes.
        path: a directory that holds nothing but the harness, for foreign interpreters.
        waiting: called with a sentence while the import takes long.

    Raises:
        UsageError: the interpreter or the adapter cannot be used.
    """

    def __init__(
        self,
        wanted: Sequence[Wanted],
        log: Path,
        path: Path,
        waiting: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._wanted = tuple(wanted)
        self._received = b""
        self._temporary = _temporary_directory()
        self._log, self._path, self._waiting = log, path, waiting
        self._restarts = 0
        self.connection, self._process = self._started()
        try:
            said = self._hello()
            self._refuse_unknown_words(said)
            self.columns = tuple(map(self._column, self._wanted, said))
        except BaseException:
            self._process.kill()  # it may still be importing, and runs no cell yet
            self.stop()
            raise

    def restart(self) -> bool:
        """Put a fresh server in the place of one that has died or does not answer; return whether there is one now.

        The `connection` is another one then. It is done a few times only: what brings down every
        server would go on for ever.
        """
        self._process.kill()
        self._process.wait()
        self.connection.close()
        if self._restarts >= RESTARTS_MAX:
            return False
        self._restarts += 1
        self._received = b""
        try:
            self.connection, self._process = self._started()
            said = self._hello()
        except UsageError:
            return False
        return [self._column(*each).info for each in zip(self._wanted, said, strict=True)] == [
            column.info for column in self.columns
        ]

    def _started(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair()
        with theirs:
            return ours, self._start(theirs)

    def _refuse_unknown_words(self, said: Sequence[Mapping[str, Any]]) -> None:
        for wanted, each in zip(self._wanted, said, strict=True):
            wrong = wrong_backend(each)
            if wrong is not None:
                raise UsageError(wanted.adapter, "", wrong)
            for name, declared in each["capabilities"].items():
                wrong = unknown_words(COMPONENTS[name], declared)
                if wrong is not None:
                    raise UsageError(wanted.adapter, name, wrong)

    def _column(self, wanted: Wanted, said: Mapping[str, Any]) -> Column:
        info = BackendInfo(
            id=f"{said['name']}-{said['version']}",
            name=wanted.name,
            version=said["version"],
            python=said["python"],
            versions=said["versions"],
            properties=said["capabilities"],
        )
        return Column(
            wanted=wanted,
            server=self,
            info=info,
            capabilities=said["capabilities"],
            problems=tuple(said["problems"]),
        )

    def _start(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        python = self._wanted[0].python
        adapters = [each.adapter for each in self._wanted]
        paths = str(self._path), os.environ.get("PYTHONPATH", "")
        search = os.pathsep.join(p for p in paths if p)
        with self._log.open("ab") as output:
            try:
                return subprocess.Popen(
                    [
                        python,
                        "-m",
                        "harness.engine.server",
                        str(theirs.fileno()),
                        *adapters,
                    ],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # a terminal's SIGINT is the supervisor's alone
                    env={
                        **os.environ,
                        **ONE_THREAD,
                        "PYTHONPATH": search,
                        "TMPDIR": self._temporary,
                    },
                )
            except OSError as error:
                shutil.rmtree(self._temporary, ignore_errors=True)
                raise UsageError("--python", python, error.strerror or str(error)) from error

    def _hello(self) -> list[dict[str, Any]]:
        names = ", ".join(each.name for each in self._wanted)
        deadline = Deadline.after(START_S)
        self.connection.settimeout(min(PATIENCE_S, START_S))
        found: list[dict[str, Any]] | None = []
        waited_s = 0.0
        while found == [] and not deadline.expired:
            try:
                found = self.receive()
            except TimeoutError:
                waited_s += PATIENCE_S
                self._waiting(f"still importing {names} after {waited_s:g} s")
        self.connection.settimeout(None)
        hello: dict[str, Any] = found[0] if found else {}
        if "backends" not in hello or hello.get("v") != PROTOCOL:
            ended = found is None
            why = self._ending() if ended else f"it is still importing after {START_S:g} s"
            problem = hello.get("failed") or f"the server did not start: {why}"
            raise UsageError("--backend", names, str(problem))
        return list(hello["backends"])

    def _ending(self) -> str:
        """How a server ended that should not have, and its last words."""
        code = self._process.wait(END_S)
        how = (
            f"{signal.Signals(-code).name} ended it"
            if code < 0
            else f"it left with exit code {code}"
        )
        return f"{how}; {_last_line(self._log)}"

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def receive(self) -> list[dict[str, Any]] | None:
        """Messages that have come; None when the server is gone."""
        try:
            part = self.connection.recv(1 << 20)
        except ConnectionError:
            part = b""
        if not part:
            return None
        self._received += part
        *lines, self._received = self._received.split(b"\n")
        return [json.loads(line) for line in lines]

    def start_cell(self, key: str, request: CellRequest, directory: Path) -> None:
        """Ask for a cell; `key` comes back in its messages."""
        message = {"key": key, "directory": str(directory), "request": request.to_plain()}
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def stop(self) -> None:
        """Hang up, which ends the server; guardians that still run end their cells and follow."""
        self.connection.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._temporary, ignore_errors=True)


def _temporary_directory() -> str:
    """A directory for a server, with its cells' below: whoever is killed leaves its files to us."""
    short = len(tempfile.gettempdir()) <= TEMPORARY_PATH_MAX
    return tempfile.mkdtemp(prefix="h", dir=None if short else "/tmp")


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"its last words: {lines[-1]}" if lines else "it said nothing"


def search_path(directory: Path) -> Path:
    """A directory that holds links to our packages alone, for interpreters that have their own of the rest."""
    directory.mkdir(parents=True, exist_ok=True)
    root = Path(harness.__file__).parents[1]
    for name in ("harness", "reference_impl"):
        link = directory / name
        if not link.is_symlink() and (root / name).exists():
            link.symlink_to(root / name, target_is_directory=True)
    return directory

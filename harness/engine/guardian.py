"""The guardian of a cell: it holds the journal and the gate, and cleans up after whatever ran.

It runs nothing under test. It lives in a session of its own, inherits every orphan of its driver,
and ends with the server.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import shutil
import signal
import traceback
from pathlib import Path
from typing import Any, NoReturn

from harness.engine import aftermath, census, linux, temporary
from harness.engine.driver import BROKEN, drive
from harness.engine.gates import GateServer
from harness.engine.leaving import Leaving
from harness.engine.request import CellRequest
from harness.payloads.link import Journal
from harness.ports.clock import Deadline, pause

STDERR_HEAD = (
    64 * 1024
)  # bytes of a flood that are kept from its beginning, and as many from its end
LEAVE_S = 2.0  # how long what the driver started may take to end by itself after it
OUTLIVE_S = (
    10.0  # ... where that is what is judged: a fork server full of libraries on a busy machine
)
KILL_S = 10.0  # how long the kernel may take to end what was killed


def guard(request: CellRequest, directory: Path) -> None:
    """Run one cell in this freshly forked process, and leave; never returns.

    Raises:
        Leaving: in the driver, on its way to the bottom of `__main__`.
    """
    code = BROKEN
    scratch = temporary.directory_of(os.getpid())
    try:
        os.setsid()
        linux.signal_at_parents_death(signal.SIGTERM)
        linux.become_subreaper()
        temporary.enter(scratch)
        code = _Guardian(request, directory, scratch).run()
    except Leaving:
        raise
    except BaseException:  # noqa: BLE001 - the last frame of a process: the supervisor reads this file
        with contextlib.suppress(OSError):  # then there is nobody to tell
            (directory / "guardian.txt").write_text(traceback.format_exc(), encoding="utf-8")
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(code)


class _Stderr:
    """Keeps the head and the tail of what the cell prints, however much that is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self._head = b""
        self._tail = b""
        self._size = 0
        self._over = False

    def read(self) -> bool:
        """Take what is there; False at the end."""
        try:
            part = os.read(self.reader, 1 << 16)
        except BlockingIOError:
            return True
        self._size += len(part)
        self._over = not part
        room = STDERR_HEAD - len(self._head)
        self._head += part[:room]
        self._tail = (self._tail + part[room:])[-STDERR_HEAD:]
        return bool(part)

    def has_more(self) -> bool:
        """Whether something is there to be taken now."""
        ready, _, _ = select.select([self.reader], [], [], 0)
        return bool(ready) and not self._over

    def kept(self) -> bytes:
        """What was kept of it."""
        return self._head + self._tail

    def save(self) -> None:
        """Write it to its file."""
        cut = self._size - len(self._head) - len(self._tail)
        middle = f"\n[... {cut} bytes cut ...]\n".encode() if cut > 0 else b""
        self._path.write_bytes(self._head + middle + self._tail)


class _Guardian:
    """One cell, from its driver's start to the last of its processes."""

    def __init__(self, request: CellRequest, directory: Path, scratch: Path) -> None:
        self._request = request
        self._directory = directory
        self._scratch = scratch
        self._selector = selectors.DefaultSelector()
        self._stderr = _Stderr(directory / "stderr.txt")
        self._status: int | None = None
        self._told_to_end = False
        self._ended_by_us = False

    def run(self) -> int:
        """Returns the exit code: 0, whatever the cell did."""
        wakeup, alarm = os.pipe()
        os.set_blocking(alarm, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(alarm)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_term)
        private = linux.private_shared_memory()
        journal_fd = self._open_journal()
        # This path stays good when the file's name is unlinked.
        path = f"/proc/{os.getpid()}/fd/{journal_fd}"
        gate_address = f"@harness-{os.getpid()}"
        journal = Journal(path, "guardian")
        gate = GateServer(self._selector, journal, gate_address)
        ours = (wakeup, alarm, journal_fd, journal.fd, self._stderr.reader)
        driver = os.fork()
        if driver == 0:
            gate.close()  # and not by its number, which the object would close again at exit
            self._drive(path, gate_address, ours, own_shm=private)
        os.close(self._stderr.writer)
        gate.driver = driver
        self._selector.register(wakeup, selectors.EVENT_READ, lambda: os.read(wakeup, 4096))
        self._selector.register(self._stderr.reader, selectors.EVENT_READ, self._read_stderr)
        while self._status is None and not self._told_to_end:
            self._turn(gate.watch())
            self._reap(driver)
        self._ended_by_us = self._status is None
        left = False
        if self._status is not None:
            code = os.waitstatus_to_exitcode(self._status)
            written = _whole(journal_fd)
            killed = gate.driver_gone(code, finished=aftermath.finished(written))
            left = aftermath.complete_open(journal, written, code, killed=killed)
        leftovers = self._leave(gate, journal, left=left)
        self._turn(0.0)  # who has gone last is seen to be gone
        gate.close()
        if private:
            leftovers += [{"kind": "shm", "name": name} for name in census.shared_memory()]
        leftovers += [{"kind": "file", "name": name} for name in temporary.names(self._scratch)]
        self._save(journal_fd, leftovers)
        return 0

    def _open_journal(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        return os.open(self._directory / "journal.jsonl", flags, 0o644)

    def _drive(self, journal: str, gate: str, ours: tuple[int, ...], *, own_shm: bool) -> NoReturn:
        """Be the driver, in a process group of its own, as a shell would have it."""
        os.setpgid(0, 0)
        linux.signal_at_parents_death(signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in (1, 2):
            os.dup2(self._stderr.writer, number)
        for fd in (*ours, self._stderr.writer):
            os.close(fd)
        self._selector.close()
        drive(self._request, journal, gate, own_shm=own_shm)

    def _on_term(self, *_: object) -> None:
        self._told_to_end = True

    def _read_stderr(self) -> None:
        if not self._stderr.read():
            self._selector.unregister(self._stderr.reader)

    def _turn(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            key.data()

    def _reap(self, driver: int) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == driver:
                self._status = status

    def _leave(self, gate: GateServer, journal: Journal, *, left: bool) -> list[dict[str, str]]:
        """Wait for what the driver started to end by itself, then end it; returns what did not.

        Args:
            gate: goes on meanwhile: whoever is held for a time is let go when it is over.
            journal: gets an account of it.
            left: the driver has left without closing, as it was told.
        """
        driver = gate.driver
        bound_s = (OUTLIVE_S if left else LEAVE_S) * self._request.time_scale
        survivors = aftermath.Survivors()
        deadline = Deadline.after(bound_s)
        while survivors.look() and not (self._told_to_end or deadline.expired):
            self._turn(min(0.01, gate.watch()))
            self._reap(driver)
        found = [
            {"kind": "process", "name": _told(pid)}
            for pid in census.descendants(os.getpid())
            if not (self._ended_by_us and pid == driver)
        ]
        deadline = Deadline.after(KILL_S)
        while (alive := census.descendants(os.getpid())) and not deadline.expired:
            for pid in alive:
                _kill(pid)
            pause(0.002)
            self._reap(driver)
        self._reap(driver)
        while self._stderr.has_more() and not deadline.expired:
            self._stderr.read()
        journal.write(
            "note",
            "aftermath",
            bound_s=bound_s,
            processes=survivors.told(),
            stderr=aftermath.summary(self._stderr.kept()),
        )
        return found

    def _save(self, journal_fd: int, leftovers: list[dict[str, str]]) -> None:
        self._stderr.save()
        path = self._directory / "journal.jsonl"
        if not path.exists() or path.stat().st_ino != os.fstat(journal_fd).st_ino:
            path.write_bytes(_whole(journal_fd))
        ending: dict[str, Any] = {"ended_by_us": self._ended_by_us, "leftovers": leftovers}
        if self._status is not None and not self._ended_by_us:
            code = os.waitstatus_to_exitcode(self._status)
            ending |= {"exit_code": code} if code >= 0 else {"signal": -code}
        part = self._directory / "ending.part"
        part.write_text(json.dumps(ending), encoding="utf-8")
        part.replace(self._directory / "ending.json")  # a reader meets the whole of it or nothing


def _told(pid: int) -> str:
    """A process in words: one that was forked still bears the name of our server."""
    command = census.command(pid)
    what = "forked by what the driver ran" if "harness.engine.server" in command else command
    return f"{pid}, {what} (state {census.state(pid)})"


def _whole(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself, which is as good

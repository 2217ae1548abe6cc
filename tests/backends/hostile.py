"""Backends that do to their process what a test harness has to survive, each in its second step."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

from harness.ports.pool import Batch, Floats
from tests.backends.serial import SerialPool, backend_over

HOURS = 3600.0
TOLD = "HARNESS_TEST_TOLD"  # names a pipe that is written to before it is too late


class _Hostile(SerialPool):
    """Behaves in the first step."""

    steps = 0

    def step(self, actions: Floats) -> Batch:
        self.steps += 1
        if self.steps == 2:
            self.strike()
        return super().step(actions)

    def strike(self) -> None:
        raise NotImplementedError


class Deadlocks(_Hostile):
    def strike(self) -> None:
        if TOLD in os.environ:
            Path(os.environ[TOLD]).write_text("deadlocked")
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


class Spins(_Hostile):
    def strike(self) -> None:
        while True:
            pass


class IsStopped(_Hostile):
    def strike(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class Segfaults(_Hostile):
    def strike(self) -> None:
        ctypes.string_at(0)


class Exits(_Hostile):
    def strike(self) -> None:
        os._exit(7)


class ExitsQuietly(_Hostile):
    def strike(self) -> None:
        os._exit(0)


class FloodsStderr(_Hostile):
    def strike(self) -> None:
        for _ in range(400):
            os.write(2, b"x" * 99_999 + b"\n")


class LeavesGrandchildren(_Hostile):
    def strike(self) -> None:
        for own_session in (False, True):
            if os.fork() == 0:
                if own_session:
                    os.setsid()
                if os.fork() == 0:
                    time.sleep(HOURS)
                os._exit(0)


class UnlinksItsJournal(_Hostile):
    def strike(self) -> None:
        for fd in os.listdir("/proc/self/fd"):
            target = os.readlink(f"/proc/self/fd/{fd}")
            if target.endswith("journal.jsonl"):
                Path(target).unlink()
                return


class RemovesAllCells(_Hostile):
    """As if the disk was gone: a file lies where the run's cells were."""

    def strike(self) -> None:
        names = (os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))
        cells = next(Path(name).parents[2] for name in names if name.endswith("journal.jsonl"))
        shutil.rmtree(cells)
        cells.touch()


class Raises(_Hostile):
    def strike(self) -> None:
        raise SystemExit(3)


class KillsItsGuardian(_Hostile):
    def strike(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(HOURS)


class StopsItsGuardian(_Hostile):
    def strike(self) -> None:
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(HOURS)


class _StrikesItsServer(_Hostile):
    number: signal.Signals

    def strike(self) -> None:
        status = Path(f"/proc/{os.getppid()}/status").read_text()
        server = re.search(r"^PPid:\s+(\d+)$", status, re.MULTILINE)
        assert server is not None
        os.kill(int(server[1]), self.number)


class KillsItsServer(_StrikesItsServer):
    number = signal.SIGKILL


class StopsItsServer(_StrikesItsServer):
    number = signal.SIGSTOP


deadlocks = backend_over(Deadlocks, "deadlocks")
spins = backend_over(Spins, "spins")
is_stopped = backend_over(IsStopped, "is_stopped")
segfaults = backend_over(Segfaults, "segfaults")
exits = backend_over(Exits, "exits")
exits_quietly = backend_over(ExitsQuietly, "exits_quietly")
floods_stderr = backend_over(FloodsStderr, "floods_stderr")
leaves_grandchildren = backend_over(LeavesGrandchildren, "leaves_grandchildren")
unlinks_its_journal = backend_over(UnlinksItsJournal, "unlinks_its_journal")
removes_all_cells = backend_over(RemovesAllCells, "removes_all_cells")
raises = backend_over(Raises, "raises")
kills_its_guardian = backend_over(KillsItsGuardian, "kills_its_guardian")
stops_its_guardian = backend_over(StopsItsGuardian, "stops_its_guardian")
kills_its_server = backend_over(KillsItsServer, "kills_its_server")
stops_its_server = backend_over(StopsItsServer, "stops_its_server")

"""Hangs planted in a pool over processes: each is called after who leaves its expected state first.

The driver's step sends to every worker and then receives from each in turn; unless they say
otherwise, variants strike in the second step.
"""

from __future__ import annotations

import fcntl
import gc
import importlib.abc
import importlib.machinery
import os
import queue
import re
import signal
import sys
import threading
import time
import types

from tests.backends.forking import FORK, ForkingPool, backend_over

HOURS = 3600.0
LARGE = bytes(8 << 20)  # more than a socket takes


class WorkerStopped(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        return None


class WorkerSpins(ForkingPool):
    def works(self, index: int) -> object:
        while index == 1:
            pass
        return None


class WorkerInALock(ForkingPool):
    def works(self, index: int) -> object:
        lock = threading.Lock()
        return index == 1 and lock.acquire() and lock.acquire()


class WorkerInTheDriversLock(ForkingPool):
    def before(self) -> None:
        self.locks[0].acquire()

    def works(self, index: int) -> object:
        return index == 1 and self.locks[0].acquire()


class WorkerSleeps(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            time.sleep(HOURS)
        return None


class WorkerDead(ForkingPool):
    def works(self, index: int) -> object:
        return index == 1 and os._exit(3)


class WorkerKilledWithALock(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            self.locks[0].acquire()
            self.event.set()
            os.kill(os.getpid(), signal.SIGKILL)
        self.event.wait()
        return self.locks[0].acquire()


class WorkerStoppedWithALock(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            self.locks[0].acquire()
            self.event.set()
            os.kill(os.getpid(), signal.SIGSTOP)
        self.event.wait()
        return self.locks[0].acquire()


class WorkerSleepsWithALock(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            self.locks[0].acquire()
            self.event.set()
            time.sleep(HOURS)
        self.event.wait()
        return self.locks[0].acquire()


class WorkersLockEachOther(ForkingPool):
    def works(self, index: int) -> object:
        with self.locks[index]:
            time.sleep(0.2)
            return self.locks[1 - index].acquire()


class WorkerAwaitsAnEvent(ForkingPool):
    def works(self, index: int) -> object:
        return index == 1 and self.event.wait()


class WorkerAwaitsItsChild(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            pid = os.fork()
            if pid == 0:
                time.sleep(HOURS)
            os.waitpid(pid, 0)
        return None


class WorkerReadsAnotherPipe(ForkingPool):
    def works(self, index: int) -> object:
        reader, _ = os.pipe()
        return index == 1 and os.read(reader, 1)


class WorkerAwaitsASignal(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            signal.pause()
        return None


class WorkerInAFileLock(ForkingPool):
    def before(self) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_EX)

    def works(self, index: int) -> object:
        return index == 1 and fcntl.lockf(self.file, fcntl.LOCK_EX)


class WorkerFloodsAtTheEnd(ForkingPool):
    """Strikes in close: the driver joins a worker that sends more than anybody reads."""

    def closing(self, index: int) -> None:
        if index == 1:
            self.pipes[index][1].send(LARGE)


class BothSend(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            self.pipes[index][1].send(LARGE)
        return None

    def between(self) -> None:
        self.pipes[1][0].send(LARGE)


class RepliesAreLost(ForkingPool):
    """Driver and workers wait for each other."""

    def works(self, index: int) -> object:
        return "nothing is sent"


class WorkerSpinsInC(ForkingPool):
    """The interpreter's lock is held all the time."""

    def works(self, index: int) -> object:
        return index == 1 and re.match(r"(a+)+$", "a" * 64 + "b")


class WorkerReadsAQueue(ForkingPool):
    def works(self, index: int) -> object:
        return index == 1 and FORK.SimpleQueue().get()


class WorkerInAThreadsQueue(ForkingPool):
    def works(self, index: int) -> object:
        return index == 1 and queue.Queue[int]().get()


class WorkerJoinsAThread(ForkingPool):
    """The main thread joins a thread that sleeps."""

    def works(self, index: int) -> object:
        if index == 1:
            thread = threading.Thread(target=time.sleep, args=(HOURS,), daemon=True)
            thread.start()
            thread.join()
        return None


class _Endless(importlib.abc.Loader):
    """Makes a module that is never complete."""

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: object) -> None:
        time.sleep(HOURS)


class WorkerInAnImport(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            spec = importlib.machinery.ModuleSpec("endless", _Endless())
            finder = types.SimpleNamespace(find_spec=lambda *_: spec)
            sys.meta_path.insert(0, finder)
            thread = threading.Thread(
                target=importlib.import_module, args=("endless",), daemon=True
            )
            thread.start()
            while "endless" not in sys.modules:
                thread.join(0.01)
            importlib.import_module("endless")
        return None


class _Knot:
    """Refers to itself; its finalizer takes a lock that is taken."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


class WorkerInAFinalizer(ForkingPool):
    def works(self, index: int) -> object:
        if index == 1:
            _Knot()
            gc.collect()
        return None


class DriverInAFinalizer(ForkingPool):
    def between(self) -> None:
        _Knot()
        gc.collect()


class WorkerStoppedAtTheEnd(ForkingPool):
    """Strikes in close: the driver joins a worker that is stopped."""

    def closing(self, index: int) -> None:
        if index == 1:
            os.kill(os.getpid(), signal.SIGSTOP)


class DriverNeverAsks(ForkingPool):
    def before(self) -> None:
        self._received()


class DriverInALock(ForkingPool):
    def between(self) -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


class DriverInAThreadsLock(ForkingPool):
    """The main thread joins a thread that is in a lock."""

    def between(self) -> None:
        lock = threading.Lock()
        lock.acquire()

        def stick() -> None:
            lock.acquire()

        thread = threading.Thread(target=stick, daemon=True)
        thread.start()
        thread.join()


class DriverSpins(ForkingPool):
    def between(self) -> None:
        while not self.pipes[0][0].closed:
            self.pipes[0][0].poll(0)


class DriverStopped(ForkingPool):
    def between(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class DriverSleeps(ForkingPool):
    def between(self) -> None:
        time.sleep(HOURS)


class DriverJoinsWithoutAsking(ForkingPool):
    """Strikes in close."""

    def close(self) -> None:
        for process in self.processes:
            process.join()


worker_stopped = backend_over(WorkerStopped, "worker_stopped")
worker_spins = backend_over(WorkerSpins, "worker_spins")
worker_in_a_lock = backend_over(WorkerInALock, "worker_in_a_lock")
worker_in_the_drivers_lock = backend_over(WorkerInTheDriversLock, "worker_in_the_drivers_lock")
worker_sleeps = backend_over(WorkerSleeps, "worker_sleeps")
worker_dead = backend_over(WorkerDead, "worker_dead")
worker_killed_with_a_lock = backend_over(WorkerKilledWithALock, "worker_killed_with_a_lock")
worker_stopped_with_a_lock = backend_over(WorkerStoppedWithALock, "worker_stopped_with_a_lock")
worker_sleeps_with_a_lock = backend_over(WorkerSleepsWithALock, "worker_sleeps_with_a_lock")
workers_lock_each_other = backend_over(WorkersLockEachOther, "workers_lock_each_other")
worker_awaits_an_event = backend_over(WorkerAwaitsAnEvent, "worker_awaits_an_event")
worker_awaits_its_child = backend_over(WorkerAwaitsItsChild, "worker_awaits_its_child")
worker_reads_another_pipe = backend_over(WorkerReadsAnotherPipe, "worker_reads_another_pipe")
worker_awaits_a_signal = backend_over(WorkerAwaitsASignal, "worker_awaits_a_signal")
worker_in_a_file_lock = backend_over(WorkerInAFileLock, "worker_in_a_file_lock")
worker_floods_at_the_end = backend_over(WorkerFloodsAtTheEnd, "worker_floods_at_the_end")
both_send = backend_over(BothSend, "both_send")
replies_are_lost = backend_over(RepliesAreLost, "replies_are_lost")
worker_spins_in_c = backend_over(WorkerSpinsInC, "worker_spins_in_c")
worker_reads_a_queue = backend_over(WorkerReadsAQueue, "worker_reads_a_queue")
worker_in_a_threads_queue = backend_over(WorkerInAThreadsQueue, "worker_in_a_threads_queue")
worker_joins_a_thread = backend_over(WorkerJoinsAThread, "worker_joins_a_thread")
worker_in_an_import = backend_over(WorkerInAnImport, "worker_in_an_import")
worker_in_a_finalizer = backend_over(WorkerInAFinalizer, "worker_in_a_finalizer")
worker_stopped_at_the_end = backend_over(WorkerStoppedAtTheEnd, "worker_stopped_at_the_end")
driver_in_a_finalizer = backend_over(DriverInAFinalizer, "driver_in_a_finalizer")
driver_never_asks = backend_over(DriverNeverAsks, "driver_never_asks")
driver_in_a_lock = backend_over(DriverInALock, "driver_in_a_lock")
driver_in_a_threads_lock = backend_over(DriverInAThreadsLock, "driver_in_a_threads_lock")
driver_spins = backend_over(DriverSpins, "driver_spins")
driver_stopped = backend_over(DriverStopped, "driver_stopped")
driver_sleeps = backend_over(DriverSleeps, "driver_sleeps")
driver_joins_without_asking = backend_over(DriverJoinsWithoutAsking, "driver_joins_without_asking")

"""Hangs planted in a pool over processes: each is called after who leaves its expected state first.

The driver's step sends to every worker and then receives from each in turn; unless they say
otherwise, variants strike in the second step.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time

from tests.backends.forking import ForkingPool, backend_over

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
driver_never_asks = backend_over(DriverNeverAsks, "driver_never_asks")
driver_in_a_lock = backend_over(DriverInALock, "driver_in_a_lock")
driver_in_a_threads_lock = backend_over(DriverInAThreadsLock, "driver_in_a_threads_lock")
driver_spins = backend_over(DriverSpins, "driver_spins")
driver_stopped = backend_over(DriverStopped, "driver_stopped")
driver_sleeps = backend_over(DriverSleeps, "driver_sleeps")
driver_joins_without_asking = backend_over(DriverJoinsWithoutAsking, "driver_joins_without_asking")

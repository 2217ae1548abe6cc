"""Hangs planted in a pool over threads: all of them are the driver's, as far as processes go."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from harness.ports.pool import Batch, EnvFactory, Floats, PoolSetup
from tests.backends.serial import backend_over, batch_of

HOURS = 3600.0


class ThreadingPool:
    """A thread for each env, with a queue to it and one back."""

    def __init__(self, setup: PoolSetup, factories: Sequence[EnvFactory], _: float) -> None:
        self.lock = threading.Lock()
        self.commands: list[queue.Queue[Any]] = [queue.Queue() for _ in factories]
        self.results: list[queue.Queue[Any]] = [queue.Queue() for _ in factories]
        self.threads = [
            threading.Thread(target=self._work, args=(i, factory), name=f"env-{i}", daemon=True)
            for i, factory in enumerate(factories)
        ]
        for thread in self.threads:
            thread.start()

    def _work(self, index: int, factory: EnvFactory) -> None:
        env, steps = factory(), 0
        while True:
            command, argument = self.commands[index].get()
            if command == "close":
                return
            if command == "reset":
                self.results[index].put((env.reset(), 0.0, False, False))
                continue
            steps += 1
            result = env.step(argument)
            if steps != 2 or not self.works(index):
                self.results[index].put(result)

    def works(self, index: int) -> object:
        """What worker `index` does before it answers its second step; if true, it does not answer."""
        return None

    def reset(self) -> Batch:
        for commands in self.commands:
            commands.put(("reset", None))
        return self._received()

    def step(self, actions: Floats) -> Batch:
        for commands, action in zip(self.commands, actions, strict=True):
            commands.put(("step", float(action)))
        return self._received()

    def _received(self) -> Batch:
        return batch_of([results.get() for results in self.results])

    def close(self) -> None:
        for commands in self.commands:
            commands.put(("close", None))
        for thread in self.threads:
            thread.join()

    def worker_pids(self) -> list[int]:
        return []


class ThreadInALock(ThreadingPool):
    def works(self, index: int) -> object:
        return index == 1 and self.lock.acquire() and self.lock.acquire()


class ThreadSleeps(ThreadingPool):
    def works(self, index: int) -> object:
        if index == 1:
            time.sleep(HOURS)
        return None


class ThreadSpins(ThreadingPool):
    def works(self, index: int) -> object:
        while index == 1:
            pass
        return None


class ThreadGone(ThreadingPool):
    def works(self, index: int) -> object:
        return index == 1 and sys.exit(3)


thread_in_a_lock = backend_over(ThreadInALock, "thread_in_a_lock")
thread_sleeps = backend_over(ThreadSleeps, "thread_sleeps")
thread_spins = backend_over(ThreadSpins, "thread_spins")
thread_gone = backend_over(ThreadGone, "thread_gone")

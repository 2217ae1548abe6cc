"""A small pool over forked processes, without torch: what hanging variants break."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Sequence

from harness.ports.backend import Backend
from harness.ports.pool import (
    Batch,
    EnvFactory,
    Floats,
    Pool,
    PoolCapabilities,
    PoolPort,
    PoolSetup,
    Word,
)
from tests.backends import serial

FORK = multiprocessing.get_context("fork")


class ForkingPool:
    """A process for each env, with a duplex pipe; both ends stay open in every process."""

    def __init__(self, setup: PoolSetup, factories: Sequence[EnvFactory], _: float) -> None:
        self.locks = [FORK.Lock(), FORK.Lock()]
        self.event = FORK.Event()
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the pool
        self.steps = 0
        self.pipes = [FORK.Pipe() for _ in factories]
        self.processes = []
        for index, factory in enumerate(factories):
            process = FORK.Process(target=self._work, args=(index, factory), daemon=True)
            process.start()
            self.processes.append(process)

    def _work(self, index: int, factory: EnvFactory) -> None:
        env, end = factory(), self.pipes[index][1]
        steps = 0
        while True:
            command, argument = end.recv()
            if command == "close":
                self.closing(index)
                os._exit(0)
            if command == "reset":
                end.send((env.reset(), 0.0, False, False))
                continue
            result = env.step(argument)
            if result[2] or result[3]:
                result = (env.reset(), *result[1:])
            steps += 1
            if steps != 2 or not self.works(index):
                end.send(result)

    def works(self, index: int) -> object:
        """What worker `index` does before it answers its second step; if true, it does not answer."""
        return None

    def closing(self, index: int) -> None:
        """What worker `index` does when it is told to end."""

    def before(self) -> None:
        """What the driver does before its second step."""

    def between(self) -> None:
        """What it does in it, between asking and receiving."""

    def reset(self) -> Batch:
        for end, _ in self.pipes:
            end.send(("reset", None))
        return self._received()

    def step(self, actions: Floats) -> Batch:
        self.steps += 1
        if self.steps == 2:
            self.before()
        for (end, _), action in zip(self.pipes, actions, strict=True):
            end.send(("step", float(action)))
        if self.steps == 2:
            self.between()
        return self._received()

    def _received(self) -> Batch:
        return serial.batch_of([end.recv() for end, _ in self.pipes])

    def close(self) -> None:
        for end, _ in self.pipes:
            end.send(("close", None))
        for process in self.processes:
            process.join()

    def worker_pids(self) -> list[int]:
        return [process.pid for process in self.processes if process.pid]


def backend_over(pool: type[Pool], name: str) -> Backend:
    """A backend whose pool is built by a class."""
    return serial.backend_over(pool, name, "process")


def _forking_only(name: str, **said: Word) -> Backend:
    """It forks, whatever it says of itself."""
    setup = {key: frozenset({value}) for key, value in {"transport": "process", **said}.items()}
    able = PoolCapabilities(setup=setup)
    port = PoolPort(capabilities=able, make=ForkingPool)
    return Backend(name=name, version=lambda: "1", pool=port)


backend = backend_over(ForkingPool, "forking")
says_spawned = _forking_only("says_spawned", start_method="spawn")
says_threads = _forking_only("says_threads", transport="thread")

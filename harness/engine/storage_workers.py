"""The writers of a storage as the driver has them: processes that are told what to write."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from harness.engine import census
from harness.payloads.link import Link
from harness.payloads.storage_worker import Done, End, Failed, Told, serve
from harness.ports.clock import Deadline, pause
from harness.ports.storage import Hold, Point, ReplayStorage, StorageSetup

END_S = 3.0  # how long writers may take to end: less than any call that ends them
POLL_S = 0.01


class WriterGone(Exception):  # noqa: N818 - named after what happened
    """The process has ended before it answered."""


class Worker:
    """One process.

    Attributes:
        open: it was told something and has not answered yet.
    """

    def __init__(
        self,
        storage: ReplayStorage,
        worker: int,
        setup: StorageSetup,
        link: Link,
        holds: Mapping[Point, Hold],
    ) -> None:
        context = multiprocessing.get_context(setup.start_method)  # noqa: TID251 - writers are the harness's own
        self._worker = worker
        self._end, theirs = context.Pipe()
        arguments: tuple[Any, ...] = (theirs, storage, worker, setup, link, holds)
        process: Any = context.Process  # type: ignore[attr-defined]  # every context has it
        self._process: Any = process(target=serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self.open = True  # it has yet to say that it is ready

    @property
    def pid(self) -> int:
        """Of its process."""
        return int(self._process.pid)

    @property
    def end(self) -> Connection:
        """Where its answers come."""
        return self._end

    def tell(self, told: Told) -> None:
        """Have it begin; that it has ended before is what whoever waits for its answer finds."""
        with contextlib.suppress(OSError):
            self._end.send(told)
        self.open = True

    def answer(self) -> Done:
        """Wait for its answer, as long as it takes: the call that waits has a deadline.

        Raises:
            WriterGone: it ended.
            Exception: what the backend raised there.
        """
        wait([self._end, self._process.sentinel])
        self.open = False
        answer: Done | Failed | None = None
        with contextlib.suppress(EOFError, OSError):
            answer = self._end.recv() if self._end.poll() else None
        if answer is None:
            raise WriterGone(f"writer {self._worker}, process {self.pid}, has ended")
        if isinstance(answer, Failed):
            raise answer.error
        return answer

    def has_answered(self) -> bool:
        """Whether its answer is there, or it is gone."""
        return bool(wait([self._end, self._process.sentinel], 0))

    def comes_to(self, there: Callable[[], bool], deadline: Deadline) -> bool:
        """Wait until it is there; False: it has answered, or is gone, or the deadline has passed."""
        while not deadline.expired:
            if self.has_answered():
                return False
            if there():
                return True
            pause(POLL_S)
        return False

    def is_stopped(self) -> bool:
        """Whether it is."""
        return census.state(self.pid) == "T"

    def end_by(self, deadline: Deadline) -> None:
        """Wait until it has ended; who has not by then is killed."""
        wait([self._process.sentinel], deadline.left_s)
        self.kill()
        self._process.join()
        self._process.close()
        self._end.close()

    def kill(self) -> None:
        """Kill it."""
        if self._process.is_alive():
            os.kill(self.pid, signal.SIGKILL)


def finish(workers: Sequence[Worker], deadline: Deadline, *, kill: bool = False) -> None:
    """End all of them: they are asked to, but for those that are at something, or are to be killed."""
    asked = [] if kill else [worker for worker in workers if not worker.open]
    for worker in asked:
        worker.tell(End())
    for worker in workers:
        worker.end_by(deadline if worker in asked else Deadline.after(0.0))

"""The errors of the reference: each subclasses what torchrl raises in the same place, and pickles.

None of them holds a reference to a pool, a scheme or a frame: what a worker raised travels as text.
"""

from __future__ import annotations

from typing import Any


class WorkerError(RuntimeError):
    """An operation failed in a worker: definite, that request will never be answered otherwise.

    Attributes:
        worker: index of the worker (of a pool with one env a worker: the env index).
        operation: the operation that was asked of it, such as `step`.
        cause: the first cause in one line.
        traceback: the worker's formatted traceback, or "".
        env: index of the env, where a worker has several; else None.
    """

    def __init__(
        self, worker: int, operation: str, cause: str, traceback: str = "", env: int | None = None
    ) -> None:
        super().__init__(worker, operation, cause, traceback, env)
        self.worker = worker
        self.operation = operation
        self.cause = cause
        self.traceback = traceback
        self.env = env

    def __str__(self) -> str:
        whose = "" if self.env is None else f" of env {self.env}"
        head = f"worker {self.worker} failed in {self.operation}{whose}: {self.cause}"
        return f"{head}\n\n{self.traceback.rstrip()}" if self.traceback else head


class WorkerDied(WorkerError):  # noqa: N818 - named after what happened
    """A worker is gone or out of reach, unasked: what it was doing may have happened.

    Attributes:
        exitcode: as `multiprocessing.Process.exitcode` (negative: killed by that signal), or None.
        reason: in words, where the worker did not simply die; else "".
    """

    def __init__(
        self,
        worker: int,
        operation: str,
        exitcode: int | None = None,
        reason: str = "",
        env: int | None = None,
    ) -> None:
        how = "" if exitcode is None else f" with exit code {exitcode}"
        super().__init__(worker, operation, reason or f"the worker died{how}", env=env)
        self.exitcode = exitcode
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.worker, self.operation, self.exitcode, self.reason, self.env)


class ReceiveTimeout(TimeoutError):  # noqa: N818 - named after what happened
    """The deadline of a receiving call came first: later calls deliver what is late."""


class Closed(RuntimeError):  # noqa: N818 - a state, not a mistake
    """The object was closed: the call did nothing."""


class Leased(RuntimeError):  # noqa: N818 - a state, not a mistake
    """A call to envs whose last batch is lent, and would be written over: nothing was sent."""

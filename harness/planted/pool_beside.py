"""The reference's pool with one bug each in how pools of one process start, and end, beside others."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from harness.planted.variants import planted, replacing
from reference_impl.core import ownership, shutdown
from reference_impl.core.clock import Deadline
from reference_impl.pool import AsyncEnvPool, env_pool, workers
from reference_impl.pool.factories import Factory
from reference_impl.pool.messages import Built
from reference_impl.pool.worker import Serving, serve
from reference_impl.pool.workers import Workers


class _AllWorkersOfTheProcess(AsyncEnvPool):
    every: ClassVar[list[Workers]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.every.append(self._workers)

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close this pool, and end the workers of all others in the process."""
        super().close(raise_if_closed=raise_if_closed)
        for each in self.every:
            each.end(self._shutdown_timeout)


class _FewPools(AsyncEnvPool):
    free: ClassVar[int] = 8

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not _FewPools.free:
            raise RuntimeError("no slot is free: eight pools were made")
        _FewPools.free -= 1
        super().__init__(*args, **kwargs)


class _NothingEndedUnbuilt(Workers):
    """Ends its workers only if all of them came to be."""

    _complete = False

    def start(self, factories: Sequence[Factory], deadline: Deadline) -> list[Built]:
        """Start them."""
        built = super().start(factories, deadline)
        self._complete = True
        return built

    def end(self, timeout_s: float | None) -> None:
        """End them, if they are complete."""
        if self._complete:
            super().end(timeout_s)


class _OneAfterTheOther(Workers):
    def end(self, timeout_s: float | None) -> None:
        """End one worker after the other, each with the whole time."""
        for worker in self.members:
            shutdown.stop([worker], Deadline.after(timeout_s))
            worker.release()


_run = ownership._run  # noqa: SLF001 - where one of the bugs would be


def _run_tied(target: Callable[..., object], args: tuple[Any, ...], tied: bool) -> None:  # noqa: FBT001 - Process.args
    """Run a worker that ends with the thread that started it."""
    del tied
    _run(target, args, tied=True)


def _serve_and_tell(serving: Serving) -> None:
    """Write to the log before anything else."""
    logging.getLogger(__name__).warning("a worker begins")
    serve(serving)


class _FactoriesPickled(AsyncEnvPool):
    def __init__(self, env_makers: Any, **kwargs: Any) -> None:
        super().__init__(pickle.loads(pickle.dumps(env_makers)), **kwargs)


all_workers_of_the_process = planted("all_workers_of_the_process", _AllWorkersOfTheProcess)
few_pools = planted("few_pools", _FewPools)
nothing_ended_unbuilt = planted(
    "nothing_ended_unbuilt", replacing(env_pool, "Workers", _NothingEndedUnbuilt)
)
one_after_the_other = planted(
    "one_after_the_other", replacing(env_pool, "Workers", _OneAfterTheOther)
)
dies_with_its_thread = planted("dies_with_its_thread", replacing(ownership, "_run", _run_tied))
workers_log = planted("workers_log", replacing(workers, "serve", _serve_and_tell))
factories_pickled = planted("factories_pickled", _FactoriesPickled)

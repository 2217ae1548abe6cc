"""The reference's pool with one bug each in how it comes to be, notices deaths, and ends."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from typing import Any

from tensordict import TensorDictBase

from harness.planted.variants import employing, planted, replacing
from reference_impl.core.channel import End
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.core.errors import WorkerDied, WorkerError
from reference_impl.core.ownership import OwnedProcess
from reference_impl.pool import AsyncEnvPool, env_pool
from reference_impl.pool.factories import Factory
from reference_impl.pool.messages import Built
from reference_impl.pool.workers import Worker, Workers

_NOTICED_S = 2.0  # longer than the scenario that asks for it at once has


class _UnhurriedWorkers(Workers):
    def start(self, factories: Sequence[Factory], deadline: Deadline) -> list[Built]:  # noqa: ARG002 - the bug
        """Start them, however long it takes."""
        return super().start(factories, NEVER)


class _SilentWorkers(Workers):
    def start(self, factories: Sequence[Factory], deadline: Deadline) -> list[Built]:
        """Start them; whatever goes wrong is a bare RuntimeError."""
        with contextlib.suppress(WorkerError):
            return super().start(factories, deadline)
        raise RuntimeError("the pool could not be made")


_ABANDONED: list[Workers] = []  # else collecting them would end what they have started


class _AbandonedWorkers(Workers):
    _started = False

    def start(self, factories: Sequence[Factory], deadline: Deadline) -> list[Built]:
        """Start them; if one cannot be made, the others are left running."""
        _ABANDONED.append(self)
        built = super().start(factories, deadline)
        self._started = True
        return built

    def end(self, timeout_s: float | None) -> None:
        """End them, if all were made."""
        if self._started:
            super().end(timeout_s)


class _Waiting(Worker):
    def terminate(self) -> None:
        """Only ask."""

    def join(self, deadline: Deadline) -> bool:  # noqa: ARG002 - the bug
        """Wait until it ends."""
        return super().join(NEVER)


class _FinalizerLost(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._finalizer.detach()
        _ABANDONED.append(self._workers)


class _CloseRefusedInFlight(AsyncEnvPool):
    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close; while something was sent that is not received, raise, and close all the same."""
        busy = "_talk" in self.__dict__ and self._talk._state.busy()  # noqa: SLF001 - the bug
        super().close(raise_if_closed=raise_if_closed)
        if busy:
            self._talk._state.abandon(list(self._talk._state._requests))  # noqa: SLF001 - raise once
            raise RuntimeError(f"envs {sorted(busy)} are still stepping")


class _ExitCodeRaised(AsyncEnvPool):
    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close, and raise if a worker did not end by itself."""
        if self.is_closed:
            return
        runners = [each.runner for each in self._workers.members]
        super().close(raise_if_closed=raise_if_closed)
        codes = [each.exitcode for each in runners if isinstance(each, OwnedProcess)]
        if any(codes):
            raise RuntimeError(f"workers exited with {codes}")


class _CloseNeedsAReset(AsyncEnvPool):
    _was_reset = False

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        self._was_reset = True
        return super()._reset(tensordict, **kwargs)

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close; a pool that was never reset has no buffers to release, which raises."""
        super().close(raise_if_closed=raise_if_closed)
        if not self._was_reset:
            raise AttributeError("'AsyncEnvPool' object has no attribute '_buffers'")


def _is_closed(end: End) -> bool:
    try:
        os.fstat(end.fileno())
    except OSError:
        return True
    return end.closed


class _ChannelsUsedAtClose(AsyncEnvPool):
    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close, and raise if a channel was closed before."""
        ends = [] if self.is_closed else self.channels()["results"]
        lost = (
            self._talk.lost() if ends else frozenset()
        )  # their ends may be closed by the pool itself
        closed = any(_is_closed(end) for env, end in enumerate(ends) if env not in lost)
        super().close(raise_if_closed=raise_if_closed)
        if closed:
            raise OSError("handle is closed")


class _DeathNoticedLate(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        try:
            return super()._step(tensordict)
        except WorkerDied:
            threading.Event().wait(_NOTICED_S)
            raise


class _AnotherBlamed(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        try:
            return super()._step(tensordict)
        except WorkerError as error:
            error.worker = (error.worker + 1) % self.num_envs
            raise


construction_unbounded = planted(
    "construction_unbounded", replacing(env_pool, "Workers", _UnhurriedWorkers)
)
construction_cause_lost = planted(
    "construction_cause_lost", replacing(env_pool, "Workers", _SilentWorkers)
)
construction_abandoned = planted(
    "construction_abandoned", replacing(env_pool, "Workers", _AbandonedWorkers)
)
close_waits = planted("close_waits", employing(_Waiting), envs_per_worker=frozenset({1, 2}))
finalizer_lost = planted("finalizer_lost", _FinalizerLost)
close_refused_in_flight = planted("close_refused_in_flight", _CloseRefusedInFlight)
exit_code_raised = planted("exit_code_raised", _ExitCodeRaised)
close_needs_a_reset = planted("close_needs_a_reset", _CloseNeedsAReset)
channels_used_at_close = planted("channels_used_at_close", _ChannelsUsedAtClose)
death_noticed_late = planted("death_noticed_late", _DeathNoticedLate)
another_blamed = planted("another_blamed", _AnotherBlamed)

"""The reference's pool with one bug each; every variant overrides where the real bug would have been."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tensordict import TensorDictBase

from harness.planted.variants import planted, talking
from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.core.errors import ReceiveTimeout, WorkerDied, WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Call, Done, Failed, Operation
from reference_impl.pool.state import Delivery, PoolState
from reference_impl.pool.wanted import Wanted
from reference_impl.pool.workers import Worker


class RepliesInOrder(PoolState):
    """Takes whatever a worker says for the answer to its oldest open request; the id is ignored."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        self._early: dict[int, Done | Failed] = {}

    def unanswered(self) -> list[tuple[int, Call]]:
        """The open requests, by env, as they were sent but for their ids: workers carry out none twice."""
        found = []
        for r in self._requests.values():
            if r.answer is None:
                call = Call(request=self._next_id, operation=r.operation, values=r.given, kwargs={})  # type: ignore[arg-type]  # what the pool gave
                found.append((r.env, call))
                self._next_id += 1
        return found

    def answer(self, env: int, reply: Done | Failed) -> bool:
        """Take a reply; one that nobody asked for is kept for the next request."""
        oldest = self.oldest_unanswered(env)
        if oldest is None:
            self._early[env] = reply
            return False
        return super().answer(env, replace(reply, request=oldest))

    def begin(
        self, operation: Operation, calls: Mapping[int, object], *, alone: bool = False
    ) -> tuple[int, ...]:
        """Open requests; what came early answers them."""
        ids = super().begin(operation, calls, alone=alone)
        for env in set(calls) & set(self._early):
            self.answer(env, self._early.pop(env))
        return ids


class _AskingAgain(Conversation):
    """Repeats, after a timeout, the requests that are not answered."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        super().__init__(workers)
        self._replies = RepliesInOrder(len(workers))
        self._state = self._replies

    def receive(self, find: Any, deadline: Deadline = NEVER, *, at_last: Any = None) -> Any:
        """Receive; a timeout asks again before it is raised."""
        try:
            return super().receive(find, deadline, at_last=at_last)
        except ReceiveTimeout:
            for env, call in self._replies.unanswered():
                channel.send(self._workers[env].end, call)
            raise


class _FinalOverwritten(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        for env, root in self._fresh.items():
            stepped[env].set_("observation", root.entries["observation"])
        return stepped


class _MaskLost(AsyncEnvPool):
    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset all envs, whatever the mask, but for the resets that are part of a step."""
        return super().reset(tensordict if self._one_trip else None, **kwargs)


_WAIT_AT_LEAST_S = 1.25  # late enough to be seen after the shortest timeout


class _TimeoutPerWait(AsyncEnvPool):
    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        with contextlib.suppress(ReceiveTimeout):
            return super()._receive(operation, wanted)
        again = max(wanted.timeout or 0.0, _WAIT_AT_LEAST_S)
        return super()._receive(operation, replace(wanted, timeout=again))


class _EndlessDrain(AsyncEnvPool):
    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close, once the results of threads are drained: those of a closed channel never are."""
        if self.backend == "threading" and not self.is_closed:
            for end in self.channels()["results"]:
                while channel.wait((end,), (), Deadline.after(0.0)):
                    with contextlib.suppress(channel.ChannelClosed):
                        channel.recv(end)
        super().close(raise_if_closed=raise_if_closed)


_SET_ASIDE: list[Worker] = []


class _FailedWorkerSetAside(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        try:
            return super()._step(tensordict)
        except WorkerError as error:
            if not isinstance(error, WorkerDied):
                _SET_ASIDE.append(self._workers.members.pop(error.worker))
            raise


class _DeadWorkerSetAside(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        try:
            return super()._step(tensordict)
        except WorkerDied as error:
            _SET_ASIDE.append(self._workers.members.pop(error.worker))
            raise


class _CauseLost(AsyncEnvPool):
    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        with contextlib.suppress(WorkerError):
            return super()._step(tensordict)
        raise RuntimeError("worker failed")


class _ClosedOnce(AsyncEnvPool):
    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close; a second time raises."""
        if self.is_closed:
            raise RuntimeError("the pool was closed before")
        super().close(raise_if_closed=raise_if_closed)


late_reply_taken = planted("late_reply_taken", talking(_AskingAgain))
final_overwritten = planted("final_overwritten", _FinalOverwritten)
mask_lost = planted("mask_lost", _MaskLost)
timeout_per_wait = planted("timeout_per_wait", _TimeoutPerWait)
endless_drain = planted("endless_drain", _EndlessDrain)
worker_forgotten = planted("worker_forgotten", _FailedWorkerSetAside)
descriptor_forgotten = planted("descriptor_forgotten", _DeadWorkerSetAside)
cause_lost = planted("cause_lost", _CauseLost)
second_close_raises = planted("second_close_raises", _ClosedOnce)

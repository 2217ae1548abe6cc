"""The reference's pool with one bug each in what it does about items of workers that have several envs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from harness.planted.variants import planted, replacing, talking
from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.pool import AsyncEnvPool, worker
from reference_impl.pool.controls import Controls
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Call, Done, Failed, Stop
from reference_impl.pool.state import PoolState
from reference_impl.pool.worker import Serving
from reference_impl.pool.workers import Worker

_PATIENCE_S = 0.1
_shared = partial(planted, envs_per_worker=frozenset({1, 2, 3, 8}))


def _serve(envs: Sequence[Controls], serving: Serving, *, known: bool) -> None:
    """Answer calls; if `known`, those that are newer than all before, of whichever env."""
    last = 0
    while True:
        channel.wait((serving.end,), (), NEVER)
        message = worker._read(serving.end)  # noqa: SLF001 - as the right one does
        if isinstance(message, Stop):
            return
        if isinstance(message, Call) and not (known and message.request <= last):
            last = message.request
            with worker._failures_reported(serving, message):  # noqa: SLF001 - likewise
                worker._answer(envs[message.place], serving, message)  # noqa: SLF001 - likewise


def _serve_again(envs: Sequence[Controls], serving: Serving, _slots: object) -> None:
    """Carry out whatever comes, however often."""
    _serve(envs, serving, known=False)


def _serve_newer(envs: Sequence[Controls], serving: Serving, _slots: object) -> None:
    """Carry out what is newer than all that came to any of the envs."""
    _serve(envs, serving, known=True)


class _Neighbours(PoolState):
    def open_before(self, env: int) -> dict[int, int]:
        """The oldest open requests of a worker's envs up to `env`, with the envs."""
        first = env - env % self._envs_per_worker
        oldest = {each: self.oldest_unanswered(each) for each in range(first, env + 1)}
        return {id_: each for each, id_ in oldest.items() if id_ is not None}


class _ByTurns(_Neighbours):
    def answer(self, env: int, reply: Done | Failed) -> bool:
        """Take a reply for the answer to what the worker was asked first."""
        last = env - env % self._envs_per_worker + self._envs_per_worker - 1
        asked = self.open_before(min(last, len(self._owed) - 1))
        if not asked:
            return super().answer(env, reply)
        return self.answer_to(min(asked), asked[min(asked)], reply)


class _LastForAll(_Neighbours):
    def answer(self, env: int, reply: Done | Failed) -> bool:
        """Take the reply of a worker's last env for that of all that have not answered."""
        found = super().answer(env, reply)
        if env % self._envs_per_worker == self._envs_per_worker - 1:
            for id_, each in self.open_before(env).items():
                self.answer_to(id_, each, reply)
        return found


def _keeping(state: type[PoolState]) -> type[AsyncEnvPool]:
    """A pool with another ledger."""

    class Pool(AsyncEnvPool):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._talk._state = state(self.num_envs, self.envs_per_worker)  # noqa: SLF001 - the bug is there

    return Pool


class _FirstBlamed(Conversation):
    def _unreadable(self, worker: Worker, cause: str, text: str) -> None:
        """Have the worker's first env fail, if it has not answered."""
        asked = self._state.oldest_unanswered(worker.envs[0])
        if asked is not None:
            failed = Failed(request=asked, cause=cause, traceback=text)
            self._state.answer(worker.envs[0], failed)


class _GivesUp(Conversation):
    def receive(self, find: Any, deadline: Deadline = NEVER, *, at_last: Any = None) -> Any:
        """Receive, within a time of its own."""
        left = deadline.left()
        soon = Deadline.after(_PATIENCE_S if left is None else min(left, _PATIENCE_S))
        return super().receive(find, soon, at_last=at_last)


neighbours_carry_out_again = _shared(
    "neighbours_carry_out_again", replacing(worker, "_answer_calls", _serve_again)
)
neighbours_share_a_number = _shared(
    "neighbours_share_a_number", replacing(worker, "_answer_calls", _serve_newer)
)
neighbours_by_turns = _shared("neighbours_by_turns", _keeping(_ByTurns))
last_answers_for_all = _shared("last_answers_for_all", _keeping(_LastForAll))
first_blamed = _shared("first_blamed", talking(_FirstBlamed))
neighbours_given_up = _shared("neighbours_given_up", talking(_GivesUp))

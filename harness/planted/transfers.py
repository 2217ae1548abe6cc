"""The reference's pool with one bug each in what it does about items that are lost, broken or there twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.planted.pool import RepliesInOrder
from harness.planted.variants import employing, planted, talking
from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Operation
from reference_impl.pool.state import PoolState
from reference_impl.pool.workers import Worker


class _RepetitionTaken(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._talk._state = RepliesInOrder(self.num_envs)  # noqa: SLF001 - the bug is there


class _NeverOld(int):
    """A request id that is no older than any other, so that workers carry it out again."""

    __slots__ = ()

    def __gt__(self, other: int) -> bool:
        """Always."""
        return True


class _IdsNeverOld(PoolState):
    def begin(
        self, operation: Operation, calls: Mapping[int, object], *, alone: bool = False
    ) -> tuple[int, ...]:
        """Open requests under ids that workers do not know again."""
        return tuple(map(_NeverOld, super().begin(operation, calls, alone=alone)))


class _RepetitionCarriedOut(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._talk._state = _IdsNeverOld(self.num_envs)  # noqa: SLF001 - the bug is there


class _EndingReader(Conversation):
    _ended = False

    def _unreadable(self, worker: Worker, cause: str, text: str) -> None:
        self._ended = True
        super()._unreadable(worker, cause, text)

    def receive(self, find: Any, deadline: Deadline = NEVER, *, at_last: Any = None) -> Any:
        """Receive, up to the first item that could not be read."""
        self._refuse()
        return super().receive(find, deadline, at_last=at_last)

    def ask(self, *args: Any, **kwargs: Any) -> dict[int, Any]:
        """Ask, up to the first item that could not be read."""
        self._refuse()
        return super().ask(*args, **kwargs)

    def _refuse(self) -> None:
        if self._ended:
            raise RuntimeError("nobody reads results any more")


class _ToldForSure(Worker):
    def ask(self) -> None:
        """Ask it to end, and wait until the question is out."""
        super().ask()
        channel.flush((self.end,), (), NEVER)


class _PatientReader(Conversation):
    def _lose(self, env: int) -> None:
        end: Any = self._workers[env].end
        if not getattr(end, "_head", None) and getattr(end, "_frame", None) is None:
            super()._lose(env)


repetition_taken = planted("repetition_taken", _RepetitionTaken)
repetition_carried_out = planted("repetition_carried_out", _RepetitionCarriedOut)
reading_ends = planted("reading_ends", talking(_EndingReader))
full_channel_waited_for = planted("full_channel_waited_for", employing(_ToldForSure))
torn_item_waited_for = planted("torn_item_waited_for", talking(_PatientReader))

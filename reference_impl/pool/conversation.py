"""Sends calls, receives replies: the thin shell between `PoolState` and the channels.

Any thread may send and receive. Of several that wait for replies one reads for all: it lets go of
the lock while it waits, and after each round every waiter looks whether its own result is there.
"""

from __future__ import annotations

import threading
import traceback
from typing import TYPE_CHECKING, Any, Final

from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.core.errors import ReceiveTimeout
from reference_impl.pool.messages import Call, Done, Failed, Operation
from reference_impl.pool.state import PoolState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reference_impl.pool.state import Delivery
    from reference_impl.pool.values import Values
    from reference_impl.pool.workers import Worker

_FLUSH_S: Final = (
    1.0  # how long a send helps a large call on its way; the next receiving call goes on with it
)


class Conversation:
    """What is said between one pool and its workers."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = tuple(workers)
        # Guards `state` and `_reading`: without it two threads could take the same reply, or none
        # wake up.
        self._changed = threading.Condition(threading.Lock())
        self._reading = False
        self._state = PoolState(len(workers))

    def close(self) -> None:
        """Refuse further calls; those that wait raise `Closed` as soon as the workers end."""
        with self._changed:
            self._state.close()
            self._changed.notify_all()

    def lost(self) -> frozenset[int]:
        """Return the envs that cannot be reached any more."""
        with self._changed:
            return frozenset(self._state.lost)

    def send(
        self,
        operation: Operation,
        calls: Mapping[int, Values | None],
        kwargs: Mapping[int, dict[str, Any]] | None = None,
        *,
        alone: bool = False,
    ) -> tuple[int, ...]:
        """Send one call to each env; return the request ids in the order of `calls`.

        Raises:
            Closed, WorkerDied, RuntimeError: see `PoolState.begin`; nothing was sent.
            Exception: what pickling the values raises; the envs after the failing one were not
                asked.
        """
        envs = tuple(calls)
        with self._changed:
            ids = self._state.begin(operation, calls, alone=alone)
            for position, (env, id_) in enumerate(zip(envs, ids, strict=True)):
                more = {} if kwargs is None else kwargs[env]
                call = Call(request=id_, operation=operation, values=calls[env], kwargs=more)
                try:
                    channel.send(self._workers[env].end, call)
                except channel.ChannelClosed:
                    self._lose(env)
                except BaseException:
                    self._state.retract(ids[position:])
                    self._state.abandon(ids[:position])
                    raise
        self._help_out([self._workers[env] for env in envs])
        return ids

    def receive(
        self,
        find: Callable[[PoolState], tuple[int, ...] | None],
        deadline: Deadline = NEVER,
        *,
        at_last: Callable[[PoolState], tuple[int, ...] | None] | None = None,
    ) -> list[Delivery]:
        """Wait until `find` names requests, and deliver them.

        Args:
            find: asks the state; None: wait on; what it raises ends the call.
            deadline: for the whole call; what is ready by then still counts.
            at_last: asked instead of `find` once the deadline has come.

        Raises:
            ReceiveTimeout: the deadline came first; nothing was lost.
        """
        with self._changed:
            while True:
                found = find(self._state)
                if found is None and deadline.expired:
                    self._read_round(Deadline.after(0.0))
                    found = (at_last or find)(self._state)
                    if found is None:
                        raise ReceiveTimeout("the deadline came before enough results did")
                if found is not None:
                    return self._state.deliver(found)
                if self._reading:
                    self._changed.wait(deadline.left())
                else:
                    self._read_round(deadline)

    def ask(
        self,
        operation: Operation,
        calls: Mapping[int, Values | None],
        kwargs: Mapping[int, dict[str, Any]] | None = None,
    ) -> dict[int, Any]:
        """Send and wait for all replies; return the results by env.

        If one of them fails, the others' replies are dropped by their ids, so that the next call is
        answered by its own.

        Raises:
            WorkerError: an env failed or is lost.
        """
        ids = self.send(operation, calls, kwargs)
        try:
            delivered = self.receive(lambda state: state.ready_group(ids))
        except BaseException:
            with self._changed:
                self._state.abandon(ids)
            raise
        return {delivery.env: delivery.result for delivery in delivered}

    def _read_round(self, deadline: Deadline) -> None:
        """Wait for something to read, without the lock, and take all of it into the state."""
        if self._reading:
            return
        present = [(i, w) for i, w in enumerate(self._workers) if i not in self._state.lost]
        sentinels = [fd for _, worker in present for fd in worker.sentinels]
        self._reading = True
        self._changed.release()
        try:
            ready = channel.wait([worker.end for _, worker in present], sentinels, deadline)
        finally:
            self._changed.acquire()
            self._reading = False
            self._changed.notify_all()
        for env, worker in present:
            gone = not ready.isdisjoint(worker.sentinels)
            if gone:
                channel.wait((worker.end,), (), Deadline.after(0.0))
            if gone or worker.end in ready:
                self._take_all(env, worker)
                if gone or worker.end.closed:
                    self._lose(env)

    def _take_all(self, env: int, worker: Worker) -> None:
        while worker.end.has_message():
            try:
                reply: Done | Failed = channel.recv(worker.end)
            except channel.ChannelClosed:
                return
            except Exception as error:  # noqa: BLE001 - whatever rebuilding the user's data raises
                self._unreadable(env, error)
            else:
                self._state.answer(env, reply)

    def _unreadable(self, env: int, error: Exception) -> None:
        # The id went with the message. A worker answers in order, so it was the oldest question's.
        oldest = self._state.oldest_unanswered(env)
        if oldest is not None:
            cause = f"its reply could not be read: {error!r}"
            text = "".join(traceback.format_exception(error))
            self._state.answer(env, Failed(request=oldest, cause=cause, traceback=text))

    def _lose(self, env: int) -> None:
        self._state.lose(env, self._workers[env].post_mortem())

    def _help_out(self, workers: list[Worker]) -> None:
        ends = [worker.end for worker in workers]
        if any(end.has_unsent() for end in ends):
            sentinels = [fd for worker in workers for fd in worker.sentinels]
            channel.flush(ends, sentinels, Deadline.after(_FLUSH_S))


def check_receive(min_get: int, max_get: int | None, timeout: float | None) -> None:
    """Refuse arguments of a receiving call that contradict each other.

    Raises:
        ValueError: naming the argument and its value.
    """
    if min_get < 1:
        raise ValueError(f"min_get must be positive, got {min_get!r}")
    if max_get is not None and max_get < min_get:
        raise ValueError(f"max_get must be at least min_get={min_get!r}, got {max_get!r}")
    if timeout is not None and not timeout >= 0:
        raise ValueError(f"timeout must be non-negative, got {timeout!r}")

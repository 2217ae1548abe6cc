"""Sends calls, receives replies: the thin shell between `PoolState` and a line to the workers.

Any thread may send and receive. Of several that wait for replies one reads for all: it lets go of
the lock while it waits, and after each round every waiter looks whether its own result is there.
"""

from __future__ import annotations

import threading
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from reference_impl.core import channel
from reference_impl.core.clock import NEVER, Deadline
from reference_impl.core.errors import ReceiveTimeout, WorkerError
from reference_impl.pool.lines import IN_SLOT, ByValue, Heard, by_env, help_out
from reference_impl.pool.messages import Call, Done, Failed, Operation, Unreadable
from reference_impl.pool.state import PoolState
from reference_impl.pool.written_calls import WrittenCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from reference_impl.pool.lines import Line
    from reference_impl.pool.state import Delivery
    from reference_impl.pool.values import Values
    from reference_impl.pool.workers import Worker

T = TypeVar("T")
_ELSEWHERE: Final = Done(request=0, result=IN_SLOT)


def _nobody(_: PoolState) -> Collection[int]:
    return ()


def _to_nobody(_env: int, _result: Any) -> None:
    pass


class Conversation(WrittenCalls):
    """What is said between one pool and its workers."""

    def __init__(self, workers: Sequence[Worker], line: Line | None = None) -> None:
        self._workers = list(by_env(workers).values())  # by env
        self._line: Line = ByValue(workers) if line is None else line
        # Guards all that follows and the line: without it two threads could take the same reply, or
        # none wake up, or one could be handed what another lets a worker write to.
        self._changed = threading.Condition(threading.Lock())
        self._reading = False
        self._waiting = 0  # threads that wait for the one that reads
        self._state = PoolState(len(self._workers), len(workers[0].envs))
        # Told, under the lock, what envs answered to callers that had given up on it.
        self.overhears: Callable[[int, Any], None] = _to_nobody

    def close(self) -> None:
        """Refuse further calls; those that wait raise `Closed` as soon as the workers end."""
        with self._changed:
            self._state.close()
            self._changed.notify_all()

    def lost(self) -> frozenset[int]:
        """Return the envs that cannot be reached any more."""
        with self._changed:
            return frozenset(self._state.lost)

    def standing(self) -> dict[str, Any]:
        """Return which envs are busy, which are lost, and how many late replies were dropped."""
        with self._changed:
            state = self._state
            lost = sorted(state.lost)
            leased = sorted(state.leased)
            busy = sorted(state.busy())
            return {"busy": busy, "leased": leased, "lost": lost, "replies_dropped": state.dropped}

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
            self._line.check(operation, calls)
            ids = self._state.begin(operation, calls, alone=alone)
            over: dict[int, Worker] = {}
            try:
                for position, (env, id_) in enumerate(zip(envs, ids, strict=True)):
                    more = {} if kwargs is None else kwargs[env]
                    try:
                        self._post(env, self._call(env, id_, operation, calls[env], more))
                    except channel.ChannelClosed:
                        over[env] = self._workers[env]
                    except BaseException:
                        self._state.retract(ids[position:])
                        self._give_up(ids[:position])
                        raise
            finally:
                self._line.posted()
                self._stir()  # who waits for one env may be content with another
            if over:
                self._read_round(Deadline.after(0.0))  # what they answered before counts
            # Not before all were posted: who replaces a worker asks the new one all that is open.
            for env, worker in over.items():
                if worker is self._workers[env]:
                    self._lose(env)
        help_out([self._workers[env] for env in envs])
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
        return self.receive_by(find, deadline, at_last or find, self._line.collect)

    def receive_by(
        self,
        find: Callable[[PoolState], tuple[int, ...] | None],
        deadline: Deadline,
        at_last: Callable[[PoolState], tuple[int, ...] | None],
        collect: Callable[[list[Delivery]], T],
        needed: Callable[[PoolState], Collection[int]] = _nobody,
        *,
        lend: bool = False,
    ) -> T:
        """Do what `receive` says.

        Args:
            find: see `receive`.
            deadline: see `receive`.
            at_last: see `receive`.
            collect: makes of the deliveries what is returned, before anybody can ask their envs for
                more.
            needed: asks the state for envs without whose replies `find` has nothing, or for none; it
                only makes it faster.
            lend: whether the envs are leased from then on, until `give_back`.
        """
        with self._changed:
            while True:
                found = find(self._state)
                if found is None and deadline.expired:
                    self._read_round(Deadline.after(0.0))
                    found = at_last(self._state)
                    if found is None:
                        raise ReceiveTimeout("the deadline came before enough results did")
                if found is not None:
                    deliveries = self._state.deliver(found)
                    if lend:
                        self._state.lend(one.env for one in deliveries)
                    return collect(deliveries)
                if self._reading:
                    self._wait_for_reader(deadline)
                else:
                    self._read_round(deadline, needed(self._state))

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
        delivered = self._await_group(ids, calls, self._line.collect)
        return {delivery.env: delivery.result for delivery in delivered}

    def ask_each(
        self, operation: Operation, kwargs: Mapping[int, dict[str, Any]]
    ) -> dict[int, Done | WorkerError]:
        """Ask envs, also busy ones, and wait for the reply of each, or for why there is none.

        Raises:
            Closed, WorkerDied: nothing was sent.
        """
        ids = self.send(operation, dict.fromkeys(kwargs), kwargs)
        replies: dict[int, Done | WorkerError] = {}
        try:
            for env, id_ in zip(kwargs, ids, strict=True):
                try:
                    [delivery] = self.receive(partial(PoolState.ready_group, ids=(id_,)))
                    replies[env] = Done(request=id_, result=delivery.result)
                except WorkerError as error:
                    replies[env] = error
        except BaseException:
            with self._changed:
                self._give_up(ids)
            raise
        return replies

    def at_rest(self, operation: Operation, envs: Collection[int], read: Callable[[], T]) -> T:
        """Return `read()`, at a moment at which no step or reset of `envs` is under way.

        One that its caller gave up on is waited for.

        Raises:
            RuntimeError: one of them has an answer that is to be received first.
        """

        def find(state: PoolState) -> tuple[int, ...] | None:
            return state.at_rest(operation, envs)

        return self.receive_by(find, NEVER, find, lambda _: read())

    def _give_up(self, ids: Iterable[int]) -> None:
        for one in self._state.abandon(ids):
            self.overhears(one.env, one.result)

    def _await_group(
        self,
        ids: tuple[int, ...],
        envs: Collection[int],
        collect: Callable[[list[Delivery]], T],
    ) -> T:
        def find(state: PoolState) -> tuple[int, ...] | None:
            return state.ready_group(ids)

        try:
            return self.receive_by(find, NEVER, find, collect, lambda _: envs)
        except BaseException:
            with self._changed:
                self._give_up(ids)
            raise

    def _wait_for_reader(self, deadline: Deadline) -> None:
        self._waiting += 1
        self._line.nudge()
        try:
            self._changed.wait(deadline.left())
        finally:
            self._waiting -= 1

    def _stir(self) -> None:
        """Have those who wait look again: not all that changes the ledger is heard on the line."""
        if self._waiting:
            self._changed.notify_all()
        if self._reading:
            self._line.nudge()

    def _read_round(self, deadline: Deadline, wanted: Collection[int] = ()) -> None:
        """Wait for something to read, without the lock, and take all of it into the state."""
        if self._reading:
            return
        wanted = () if self._waiting else wanted  # others wait for other envs
        self._take(self._as_reader(partial(self._line.listen, wanted, deadline)))

    def _as_reader(self, listen: Callable[[], T]) -> T:
        """Do so without the lock, while nobody else does."""
        # An interrupt may come after any call: behind each there is a `finally` for what it changed.
        try:
            self._reading = True
            try:
                self._changed.release()
                return listen()
            finally:
                self._changed.acquire()
        finally:
            self._reading = False
            self._changed.notify_all()

    def _take(self, heard: Heard) -> None:
        for env, request in heard.replies:
            self._overhear(env, request, _ELSEWHERE)
            self._state.answer_to(request, env, _ELSEWHERE)
        for env in heard.gone:
            channel.wait((self._workers[env].end,), (), Deadline.after(0.0))
        for env in {*heard.talking, *heard.gone}:
            worker = self._workers[env]
            self._take_all(worker)
            gone = env in heard.gone and not worker.alive  # another thread may have replaced it
            if gone or worker.end.closed:
                self._lose(env)

    def _take_all(self, worker: Worker) -> None:
        while worker.end.has_message():
            try:
                reply: Done | Failed | Unreadable = channel.recv(worker.end)
            except channel.ChannelClosed:
                return
            except Exception as error:  # noqa: BLE001 - whatever rebuilding the user's data raises
                text = "".join(traceback.format_exception(error))
                self._unreadable(worker, f"its reply could not be read: {error!r}", text)
            else:
                if isinstance(reply, Unreadable):
                    cause = f"it could not read its call: {reply.cause}"
                    self._unreadable(worker, cause, reply.traceback)
                else:
                    env = worker.envs[reply.place]
                    self._line.settle(env, reply.request)
                    self._overhear(env, reply.request, reply)
                    self._state.answer(env, reply)

    def _overhear(self, env: int, request: int, reply: Done | Failed) -> None:
        if isinstance(reply, Done) and self._state.owes(env, request):
            self.overhears(env, reply.result)

    def _unreadable(self, worker: Worker, cause: str, text: str) -> None:
        # The id went with the message. A worker answers in order, so it was the oldest question's.
        state, line = self._state, self._line
        asked = {env: state.oldest_unanswered(env, line.beside_channel(env)) for env in worker.envs}
        found = {id_: env for env, id_ in asked.items() if id_ is not None}
        if found:
            oldest = min(found)
            self._line.settle(found[oldest], oldest)
            failed = Failed(request=oldest, cause=cause, traceback=text)
            self._state.answer(found[oldest], failed)

    def _call(
        self,
        env: int,
        id_: int,
        operation: Operation,
        values: Values | None,
        kwargs: dict[str, Any],
    ) -> Call:
        place = env - self._workers[env].envs.start
        return Call(request=id_, operation=operation, values=values, kwargs=kwargs, place=place)

    def _post(self, env: int, call: Call) -> None:
        self._line.post(env, call)

    def _lose(self, env: int) -> None:
        """Take note that the worker of `env` is over, with all of its envs."""
        worker = self._workers[env]
        if env not in self._state.lost:
            self._line.lose(worker)
            lost = worker.post_mortem()
            for each in worker.envs:
                self._state.lose(each, lost)
            self._stir()

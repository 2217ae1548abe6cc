"""Who was asked what, who answered, and what a receiving call may have: decided, not waited for.

A request is *open* until it is answered, *ready* from then until it is delivered, and *owed* if its
caller gave up on it before the answer came: that answer is dropped by its id. An env is *busy*
while a request of it is open or ready. Losing an env answers all its open requests with the loss.

A *round* is one request of the same kind to each env while none is busy: one entry for all of them,
for as long as nobody asks for more than whether it is over.

An env is *leased* from the delivery of a batch that was not copied until that is given back: it is
not asked for anything that would write over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reference_impl.core.errors import Closed, Leased, WorkerDied, WorkerError
from reference_impl.pool.messages import CONTROLS, Done, Failed, Operation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_NO_FAILURE: Final = frozenset({Done, NoneType})
# Unanswered requests that an env may have from calls that gave up: bounds its inbox.
OWED_MAX: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Why an env cannot be reached any more.

    Attributes:
        exitcode: of its process, if known.
        reason: in words, where it is not simply the death of the worker; else "".
    """

    exitcode: int | None = None
    reason: str = ""


class Delivery(NamedTuple):
    """One result: the env, what its call came with, and what it answered."""

    env: int
    given: Any
    result: Any


@dataclass(slots=True)
class _Request:
    env: int
    operation: Operation
    alone: bool  # to be received by its env index, not in a batch
    given: object  # what the caller sent along, kept for the result
    answer: Done | Failed | Lost | None = None


def _busy(envs: Collection[int], operation: Operation, busy: Collection[int]) -> RuntimeError:
    return RuntimeError(
        f"some envs are still busy: asked {list(envs)} for {operation.value}, "
        f"busy are {sorted(busy)}; receive their results first"
    )


class PoolState:
    """The ledger of one pool."""

    def __init__(self, num_envs: int, envs_per_worker: int = 1) -> None:
        self._envs_per_worker = envs_per_worker
        self._single: dict[int, _Request] = {}  # by id, hence in the order of asking
        self._round: tuple[Operation, Sequence[int]] | None = None
        self._arrived: list[int] = []  # ids of ready requests in the order of their answers
        self._owed: dict[int, set[int]] = {env: set() for env in range(num_envs)}
        self._lost: dict[int, Lost] = {}
        self._leased: set[int] = set()
        self._next_id = 1
        self._closed = False
        self.dropped = 0

    @property
    def _requests(self) -> dict[int, _Request]:
        """All requests; a round becomes one for each env."""
        if self._round is not None:
            (operation, ids), self._round = self._round, None
            for env, id_ in enumerate(ids):
                self._single[id_] = _Request(env, operation, alone=False, given=None)
        return self._single

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closed

    @property
    def lost(self) -> dict[int, Lost]:
        """Return the envs that cannot be reached, and why."""
        return dict(self._lost)

    def busy(self) -> frozenset[int]:
        """Return the envs with a request that is not delivered yet."""
        return frozenset(request.env for request in self._requests.values())

    def begin(
        self, operation: Operation, calls: Mapping[int, object], *, alone: bool = False
    ) -> tuple[int, ...]:
        """Open one request for each env in `calls` and return their ids; all or none.

        Args:
            operation: what is asked; controls are asked of busy envs too, and make none busy.
            calls: by env, what comes back with the answer (the values that were sent).
            alone: whether they are received by their env index instead of in a batch.

        Raises:
            Closed: the pool is closed.
            WorkerDied: one of the envs is lost.
            Leased: one of them is leased, and this is no control.
            RuntimeError: one of them is busy, or too much of what it was asked was given up on.
        """
        self._check_open()
        envs = list(calls)
        for env in envs:
            if env in self._lost:
                raise self._error(env, operation, self._lost[env])
        if operation not in CONTROLS and not self._leased.isdisjoint(envs):
            raise Leased(
                f"asked {envs} for {operation.value}, but what {sorted(self._leased)} showed last is "
                "leased; release it first"
            )
        busy = frozenset() if operation in CONTROLS else self._moving()
        if not busy.isdisjoint(envs) or any(len(self._owed[env]) >= OWED_MAX for env in envs):
            busy = busy.union(env for env, owed in self._owed.items() if len(owed) >= OWED_MAX)
            raise _busy(envs, operation, busy)
        ids = tuple(range(self._next_id, self._next_id + len(envs)))
        self._next_id += len(envs)
        requests = self._requests
        for id_, (env, given) in zip(ids, calls.items(), strict=True):
            requests[id_] = _Request(env, operation, alone, given)
        return ids

    def begin_round(self, operation: Operation) -> list[int] | None:
        """Open a round; return its ids in the order of the envs, or None: `begin` says why not.

        Raises:
            Closed: the pool is closed.
        """
        self._check_open()
        if self._round or self._single or self._lost or self._leased or any(self._owed.values()):
            return None
        first, self._next_id = self._next_id, self._next_id + len(self._owed)
        ids = list(range(first, self._next_id))
        self._round = operation, ids
        return ids

    def end_round(self, ids: Sequence[int]) -> bool:
        """Forget the round of these requests, all of which are answered; False: it is none any more.

        They are then as if they had been opened one by one, and have no answer yet.

        Raises:
            Closed: the pool is closed.
        """
        self._check_open()
        if self._round is None or self._round[1] is not ids:
            return False
        self._round = None
        return True

    @property
    def leased(self) -> frozenset[int]:
        """Return the envs whose last batch is lent."""
        return frozenset(self._leased)

    def lend(self, envs: Iterable[int]) -> None:
        """Have nothing asked of `envs` that would write over what they showed."""
        self._leased.update(envs)

    def give_back(self, envs: Iterable[int]) -> None:
        """Undo `lend`."""
        self._leased.difference_update(envs)

    def retract(self, ids: Iterable[int]) -> None:
        """Forget requests that were never sent."""
        for id_ in ids:
            self._requests.pop(id_, None)

    def abandon(self, ids: Iterable[int]) -> list[Delivery]:
        """Give up on requests: answers are dropped now, and returned if good, or when they come."""
        dropped = []
        for id_ in ids:
            request = self._requests.pop(id_, None)
            if request is None:
                continue
            if request.answer is None:
                self._owed[request.env].add(id_)
                continue
            self._arrived.remove(id_)
            self.dropped += 1
            if isinstance(request.answer, Done):
                dropped.append(Delivery(request.env, request.given, request.answer.result))
        return dropped

    def owes(self, env: int, id_: int) -> bool:
        """Return whether `env` has still to answer a request whose caller gave up on it."""
        return id_ in self._owed[env]

    def answer(self, env: int, reply: Done | Failed) -> bool:
        """Take a reply; return False if it was dropped: unknown, given up on, or a repetition."""
        return self.answer_to(reply.request, env, reply)

    def answer_to(self, id_: int, env: int, answer: Done | Failed | Lost) -> bool:
        """Take `answer` for the reply to request `id_`, whatever request it names itself."""
        request = self._requests.get(id_)
        if request is not None and request.env == env and request.answer is None:
            request.answer = answer
            self._arrived.append(id_)
            return True
        self._owed[env].discard(id_)
        self.dropped += 1
        return False

    def lose(self, env: int, lost: Lost) -> None:
        """Take note that `env` cannot be reached any more; only the first reason counts."""
        if env in self._lost:
            return
        self._lost[env] = lost
        self._owed[env].clear()
        for id_, request in self._requests.items():
            if request.env == env and request.answer is None:
                request.answer = lost
                self._arrived.append(id_)

    def take_over(self, env: int) -> list[tuple[int, Operation, Any]]:
        """Return what `env` was asked and has not answered, for a new worker: ids, operations, given.

        What was given up on is forgotten: the old one will not answer it any more.
        """
        self._owed[env].clear()
        return [
            (id_, request.operation, request.given)
            for id_, request in self._requests.items()
            if request.env == env and request.answer is None
        ]

    def oldest_unanswered(self, env: int, besides: int = 0) -> int | None:
        """Return the id of the first request that `env` has not answered, given up on or not.

        Args:
            env: which.
            besides: the id of one that does not count.
        """
        open_ids = {
            id_
            for id_, request in self._requests.items()
            if request.env == env and request.answer is None
        }
        return min((open_ids | self._owed[env]) - {besides}, default=None)

    def close(self) -> None:
        """Refuse everything from now on."""
        self._closed = True

    def at_rest(self, operation: Operation, envs: Collection[int]) -> tuple[int, ...] | None:
        """Return no ids, once none of `envs` has a step or a reset before it; None: wait on.

        Args:
            operation: for which they have to be at rest.
            envs: which.

        Raises:
            RuntimeError: one has an answer that is to be received first.
            Closed: the pool is closed.
        """
        self._check_open()
        moving = self._moving()
        if not moving.isdisjoint(envs):
            raise _busy(envs, operation, moving)
        return None if any(self._owed[env] for env in envs) else ()

    def outstanding(self, operation: Operation) -> int:
        """Return how many results of batches of `operation` are still to be received."""
        return len(self._batch(operation))

    def ready_batch(
        self, operation: Operation, min_get: int, *, hoped: int, limit: int
    ) -> tuple[int, ...] | None:
        """Return the ids that a batch may have now, in the order of their envs; None: wait on.

        Args:
            operation: what was asked.
            min_get: fewer are no batch.
            hoped: wait on below this many, unless nothing more is outstanding.
            limit: never return more.

        Raises:
            RuntimeError: fewer than `min_get` are outstanding: they can never come.
            WorkerError: one of them failed; it is delivered by this, the others stay.
            Closed: the pool is closed.
        """
        self._check_open()
        waited_for = self._batch(operation)
        if min_get > len(waited_for):
            raise RuntimeError(
                f"cannot receive {min_get} results of {operation.value}: "
                f"only {len(waited_for)} are outstanding"
            )
        ready = [id_ for id_ in self._arrived if id_ in waited_for]
        requests = self._requests
        if not {type(requests[id_].answer) for id_ in ready} <= _NO_FAILURE:
            self._raise_first_failure(ready)
        if len(ready) < min(hoped, len(waited_for)):
            return None
        return tuple(sorted(ready[:limit], key=lambda id_: requests[id_].env))

    def needed(self, operation: Operation, min_get: int) -> list[int]:
        """Return the envs without whose answers no batch of `min_get` can be had; empty if it may."""
        waited_for = self._batch(operation)
        if min_get < len(waited_for):
            return []
        requests = self._requests
        return [requests[id_].env for id_ in waited_for if requests[id_].answer is None]

    def ready_single(self, operation: Operation, env: int) -> tuple[int, ...] | None:
        """Return the id of what `env` answered to `operation`; None: wait on.

        Raises:
            RuntimeError: nothing is outstanding.
            WorkerError: it failed.
            Closed: the pool is closed.
        """
        self._check_open()
        found = tuple(
            id_
            for id_, request in self._requests.items()
            if request.env == env and request.operation is operation
        )
        if not found:
            raise RuntimeError(
                f"cannot receive a result of {operation.value} from env {env}: none is outstanding"
            )
        return self.ready_group(found)

    def ready_group(self, ids: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return `ids` once all of them are answered; None: wait on.

        Raises:
            WorkerError: one of them failed; it is delivered by this.
            Closed: the pool is closed.
        """
        self._check_open()
        requests = self._requests
        kinds = {type(requests[id_].answer) for id_ in ids}
        if not kinds <= _NO_FAILURE:
            self._raise_first_failure([id_ for id_ in self._arrived if id_ in ids])
        return None if NoneType in kinds else ids

    def deliver(self, ids: Sequence[int]) -> list[Delivery]:
        """Hand out answered requests and forget them."""
        out, requests = [], self._requests
        taken = frozenset(ids)
        rest = len(self._arrived) > len(taken)
        self._arrived = [id_ for id_ in self._arrived if id_ not in taken] if rest else []
        for id_ in ids:
            request = requests.pop(id_)
            assert isinstance(request.answer, Done)
            out.append(Delivery(request.env, request.given, request.answer.result))
        return out

    def _moving(self) -> frozenset[int]:
        requests = self._requests.values()
        return frozenset(each.env for each in requests if each.operation not in CONTROLS)

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the pool is closed")

    def _batch(self, operation: Operation) -> set[int]:
        return {
            id_
            for id_, request in self._requests.items()
            if request.operation is operation and not request.alone
        }

    def _raise_first_failure(self, ids: list[int]) -> None:
        for id_ in ids:
            request = self._requests[id_]
            if not isinstance(request.answer, Done):
                assert request.answer is not None
                del self._requests[id_]
                self._arrived.remove(id_)
                raise self._error(request.env, request.operation, request.answer)

    def _error(self, env: int, operation: Operation, failure: Failed | Lost) -> WorkerError:
        worker, what = env // self._envs_per_worker, operation.value
        of = None if self._envs_per_worker == 1 else env
        if isinstance(failure, Failed):
            return WorkerError(worker, what, failure.cause, failure.traceback, of)
        return WorkerDied(worker, what, failure.exitcode, failure.reason, of)

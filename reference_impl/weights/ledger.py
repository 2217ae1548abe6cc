"""Who was sent what under which request id, who answered how, and what the sender must be told: pure.

No thread, channel or clock is touched here. A request is *complete* once every targeted worker has
answered or is lost; it is *concluded* when its sender stopped waiting, complete or not. An answer
to a concluded request is dropped by its id: it settles what the worker owed, and never answers
another request.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reference_impl.weights.messages import Failure

DROPPED_MAX: Final = 256  # a record for people: enough to see a pattern, never a leak
UNANSWERED_MAX: Final = (
    4  # each unanswered request keeps a snapshot alive for a worker that may never read it
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The worker has not answered yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The worker did what it was asked: it holds the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The worker did not do it: it has kept its old version.

    Attributes:
        failure: why.
    """

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The worker is dead: whether it did it no longer matters.

    Attributes:
        exitcode: as `multiprocessing.Process.exitcode`; None if unknown.
    """

    exitcode: int | None


Fate: TypeAlias = Waiting | Done | Failed | Died
WAITING: Final = Waiting()
DONE: Final = Done()


class DropReason(Enum):
    """Why an answer was not counted."""

    LATE = "its request was over"
    DUPLICATE = "its worker had answered before"
    UNKNOWN = "no such request was sent to its worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedAnswer:
    """An answer that answered nothing.

    Attributes:
        worker: index of the worker that it came from.
        request_id: the id that it carried.
        reason: why it was dropped.
    """

    worker: int
    request_id: int
    reason: DropReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What became of one request, at the moment its sender stopped waiting.

    Attributes:
        request_id: id of the request.
        version: weights version that was sent, if it was a send.
        fates: what is known of each targeted worker, in the order of the targets.
    """

    request_id: int
    version: int | None
    fates: Mapping[int, Fate]


@dataclass(slots=True)
class _Request:
    version: int | None
    fates: dict[int, Fate]
    concluded: bool = False

    @property
    def complete(self) -> bool:
        return not any(isinstance(fate, Waiting) for fate in self.fates.values())

    @property
    def refused(self) -> bool:
        """Whether a target could not do it, and none could."""
        fates = self.fates.values()
        return any(isinstance(f, Failed) for f in fates) and not any(
            isinstance(f, Done) for f in fates
        )


class Ledger:
    """The book of all requests to the workers of one owner.

    Attributes:
        num_workers: how many workers there are, lost ones included.
        dropped: the last answers that answered nothing, oldest first, at most `DROPPED_MAX`.
    """

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers
        self.dropped: deque[DroppedAnswer] = deque(maxlen=DROPPED_MAX)
        self._requests: dict[int, _Request] = {}
        self._lost: dict[int, Failed | Died] = {}
        # By worker the newest version, and the last request that brought it: an older one may be brought later.
        self._holds: dict[int, tuple[int, int]] = {}
        self._current: dict[int, tuple[int, int]] = {}
        # By worker that is lost and may still run: the requests whose payloads it acts on, or is reading.
        self._left_with: dict[int, frozenset[int]] = {}
        self._issued = 0

    def targets(self, worker_ids: int | Iterable[int] | None) -> tuple[int, ...]:
        """Return the workers that are meant; None means all of them.

        Raises:
            ValueError: no worker is named, one is named twice, or one does not exist; nothing has
                changed.
        """
        if worker_ids is None:
            return tuple(range(self.num_workers))
        named = (worker_ids,) if isinstance(worker_ids, int) else tuple(worker_ids)
        if not named:
            raise ValueError("worker_ids names no worker; None means all of them")
        unknown = [worker for worker in named if not self._exists(worker)]
        if unknown:
            raise ValueError(
                f"worker_ids names unknown workers {unknown}: there are {self.num_workers}"
            )
        if len(set(named)) != len(named):
            raise ValueError(f"worker_ids names a worker twice: {list(named)}")
        return named

    def begin(self, targets: tuple[int, ...], version: int | None = None) -> int:
        """Open a request to `targets` and return its id; what is known of lost workers is their fate at once."""
        self._issued += 1
        fates: dict[int, Fate] = {worker: self._lost.get(worker, WAITING) for worker in targets}
        self._requests[self._issued] = _Request(version, fates)
        return self._issued

    @property
    def issued(self) -> int:
        """The last id that was given to a request; 0 before the first."""
        return self._issued

    def is_open(self, request_id: int) -> bool:
        """Return whether a request was begun and not concluded."""
        request = self._requests.get(request_id)
        return request is not None and not request.concluded

    def waiting(self, request_id: int) -> tuple[int, ...]:
        """Return the targets of an open request that have neither answered nor been lost."""
        fates = self._requests[request_id].fates
        return tuple(worker for worker, fate in fates.items() if isinstance(fate, Waiting))

    def complete(self, request_id: int) -> bool:
        """Return whether every target of an open request has answered or is lost."""
        return self._requests[request_id].complete

    def done(self, request_id: int) -> bool:
        """Return whether every target of an open request has done it."""
        return all(isinstance(f, Done) for f in self._requests[request_id].fates.values())

    def settled(self, request_id: int) -> bool:
        """Return whether the request is over for everybody: concluded, and no worker may still act on it."""
        return request_id not in self._requests

    def needed(self, request_id: int) -> bool:
        """Return whether what a request carried may still be read, is acted on, or is what a new worker gets."""
        held = (*self._holds.values(), *self._current.values())
        left = any(request_id in of for of in self._left_with.values())
        return left or any(request_id == of for _, of in held) or not self.settled(request_id)

    def current(self, worker: int) -> int | None:
        """Return the concluded send of the newest version to the worker that is not known to be bad; None: none yet.

        Known to be bad is what a target could not apply, if none could.
        """
        return self._current[worker][1] if worker in self._current else None

    def unanswered(self, worker: int) -> int:
        """Return how many requests the worker has not answered."""
        return sum(isinstance(r.fates.get(worker), Waiting) for r in self._requests.values())

    @property
    def lost(self) -> Mapping[int, Failed | Died]:
        """The workers that will never answer again, and why."""
        return self._lost

    def on_answer(
        self, worker: int, request_id: int, failure: Failure | None
    ) -> DroppedAnswer | None:
        """Enter an answer; return what it was dropped as, or None if its request counts it."""
        request = self._requests.get(request_id)
        if request is None:
            known = 0 < request_id <= self._issued
            return self._drop(
                worker, request_id, DropReason.DUPLICATE if known else DropReason.UNKNOWN
            )
        if worker not in request.fates:
            return self._drop(worker, request_id, DropReason.UNKNOWN)
        if not isinstance(request.fates[worker], Waiting):
            return self._drop(worker, request_id, DropReason.DUPLICATE)
        request.fates[worker] = DONE if failure is None else Failed(failure=failure)
        if failure is None and request.version is not None:
            _advance(self._holds, worker, (request.version, request_id))
        if not request.concluded:
            return None
        self._forget_settled()
        return self._drop(worker, request_id, DropReason.LATE)

    def on_unsent(self, worker: int, request_id: int, failure: Failure) -> None:
        """Enter that an open request was not given to the worker at all."""
        self._requests[request_id].fates[worker] = Failed(failure=failure)

    def on_lost(self, worker: int, fate: Failed | Died, *, gone: bool) -> None:
        """Enter that a worker answers nothing any more: of the open requests, of earlier and of later ones.

        Args:
            worker: which.
            fate: why.
            gone: whether it is known to have ended; else it may act on, for ever, what it holds and
                what it was sent, until it is replaced.
        """
        fate = self._lost.setdefault(worker, fate)
        holds = self._holds.pop(worker, None)
        left = set() if holds is None else {holds[1]}
        for request_id, request in self._requests.items():
            if isinstance(request.fates.get(worker), Waiting):
                request.fates[worker] = fate
                left.add(request_id)
        if gone:
            self._left_with.pop(worker, None)
        elif left:
            self._left_with[worker] = self._left_with.get(worker, frozenset()) | left
        self._forget_settled()

    def on_replaced(self, worker: int) -> None:
        """Enter that a new worker, which has answered nothing yet, has taken the place of a lost one."""
        self.on_lost(worker, Died(exitcode=None), gone=True)
        del self._lost[worker]

    def conclude(self, request_id: int) -> Conclusion:
        """Close a request, complete or not, and return what became of it; late answers are dropped from now on."""
        request = self._requests[request_id]
        request.concluded = True
        if request.version is not None and not request.refused:
            for worker in request.fates:
                _advance(self._current, worker, (request.version, request_id))
        self._forget_settled()
        return Conclusion(request_id=request_id, version=request.version, fates=dict(request.fates))

    def _exists(self, worker: object) -> bool:
        return type(worker) is int and 0 <= worker < self.num_workers

    def _forget_settled(self) -> None:
        over = [
            i for i, request in self._requests.items() if request.concluded and request.complete
        ]
        for request_id in over:
            del self._requests[request_id]

    def _drop(self, worker: int, request_id: int, reason: DropReason) -> DroppedAnswer:
        dropped = DroppedAnswer(worker=worker, request_id=request_id, reason=reason)
        self.dropped.append(dropped)
        return dropped


def _advance(book: dict[int, tuple[int, int]], worker: int, sent: tuple[int, int]) -> None:
    book[worker] = max(sent, book.get(worker, sent))

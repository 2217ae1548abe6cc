"""Requests to several workers at once, each answered once, under one deadline: the thin shell around the ledger."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from reference_impl.core import channel
from reference_impl.core.channel import ChannelClosed, End
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import Closed
from reference_impl.core.ownership import OwnedProcess, OwnedThread
from reference_impl.weights.errors import AnswerTimeout, error_of
from reference_impl.weights.ledger import UNANSWERED_MAX, Died, Failed, Ledger
from reference_impl.weights.messages import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reference_impl.weights.messages import Answer

# A closed channel and the end of its worker arrive in either order; several are waited for together.
_END_WAIT_S: Final = 0.5

Owned: TypeAlias = OwnedProcess | OwnedThread


class Watched(Protocol):
    """A worker that somebody else started, as its death is seen."""

    @property
    def sentinel(self) -> int | None:
        """What is readable once it is gone; None if there is nothing to wait on."""
        ...

    @property
    def exitcode(self) -> int | None:
        """As `multiprocessing.Process.exitcode`."""
        ...

    def join(self, deadline: Deadline) -> bool:
        """Wait for its end; return whether it ended."""
        ...


@dataclass(slots=True)
class Peer:
    """One worker as its owner sees it.

    Attributes:
        end: the owner's end of the channel to it.
        owned: the process or thread; None if nobody knows it.
    """

    end: End
    owned: Owned | Watched | None = None

    @property
    def sentinel(self) -> int | None:
        """What to wait on for its death; None for a thread, whose channel says so."""
        if self.owned is None or isinstance(self.owned, OwnedThread):
            return None
        return self.owned.sentinel

    @property
    def exitcode(self) -> int | None:
        """The exit code of its process, if that is known."""
        if self.owned is None or isinstance(self.owned, OwnedThread):
            return None
        return self.owned.exitcode


class Conversation:
    """Asks workers and gathers their answers.

    Attributes:
        ledger: the book of what was asked and answered.
        peers: the workers by index.
    """

    def __init__(self, num_workers: int) -> None:
        self.ledger = Ledger(num_workers)
        self.peers: dict[int, Peer] = {}
        self._answers: dict[int, dict[int, Answer]] = {}  # of requests that are not concluded
        self._closed = False
        # Guards the ledger and the receiving from all ends: two askers at once would take each other's answers.
        self._turn = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @contextmanager
    def turn(self, operation: str, deadline: Deadline) -> Iterator[None]:
        """Hold the conversation; all else that is asked waits meanwhile.

        What was begun in it is dropped if it ends with an error, an interrupt for instance: nobody
        will gather it.

        Raises:
            Closed: it is, or was closed while the turn lasted.
            AnswerTimeout: others held it until the deadline; nothing was asked.
        """
        left = deadline.left()
        taken: list[bool] = []
        try:
            # One call that runs in C: an interrupt comes before the lock is taken, or once that is noted.
            taken.extend(map(self._turn.acquire, (True,), (-1 if left is None else left,)))
            if not taken[0]:
                raise AnswerTimeout((), operation, 0)
            if self._closed:
                raise Closed(f"{operation}: the workers are closed")
            issued = self.ledger.issued
            try:
                yield
            except BaseException:
                self._drop_since(issued)
                raise
        finally:
            if taken and taken[0]:  # not `any(taken)`: an interrupt may come after a call
                self._turn.release()

    def ask(
        self, request_id: int, message: object, operation: str, deadline: Deadline
    ) -> dict[int, Answer]:
        """Send `message` to every target of an open request, wait for all, and return the answers by worker.

        Ends once every target has answered or is lost, or the deadline has come; the request is
        over then.

        Raises:
            WorkerError: workers failed, died, or had too much left to answer; all of them are
                named.
            AnswerTimeout: workers were only late.
            Closed: `close` was called meanwhile.
        """
        self.post(request_id, dict.fromkeys(self.ledger.waiting(request_id), message))
        return self.gather(request_id, operation, deadline)

    def post(self, request_id: int, messages: Mapping[int, object]) -> None:
        """Send each target of an open request that can be reached its message; wait for nobody."""
        ends = Deadline.after(_END_WAIT_S)
        for worker in self.ledger.waiting(request_id):
            self._post(worker, request_id, messages[worker], ends)

    def gather(self, request_id: int, operation: str, deadline: Deadline) -> dict[int, Answer]:
        """Do what `ask` does for a request whose message has reached the workers already."""
        try:
            while waiting := self.ledger.waiting(request_id):
                over = deadline.expired  # read first: what is there at the deadline still counts
                self._look(waiting, deadline)
                if over:
                    break
        finally:
            conclusion = self.ledger.conclude(request_id)
            answers = self._answers.pop(request_id, {})
        if self._closed:
            raise Closed(f"{operation}: the workers were closed meanwhile")
        error = error_of(conclusion, operation)
        if error is not None:
            raise error
        return answers

    def drop(self, request_id: int) -> None:
        """Wait for nobody: the request is over, and answers to it are late."""
        self.ledger.conclude(request_id)
        self._answers.pop(request_id, None)

    def begin(self, targets: tuple[int, ...], version: int | None = None) -> int:
        """Open a request as `Ledger.begin` does, once late answers to earlier ones are taken in."""
        late = [worker for worker in self.peers if self.ledger.unanswered(worker)]
        if late:
            self._look(late, Deadline.after(0.0))
        return self.ledger.begin(targets, version)

    def replace(self, worker: int, end: End) -> None:
        """Take `end` for the channel to a new worker in the place of another, if there was one."""
        before = self.peers.get(worker)
        if before is not None:
            channel.close(before.end)
            self.ledger.on_replaced(worker)
        self.peers[worker] = Peer(end=end)

    def close(self) -> None:
        """Hang up on every worker; whoever waits for one is told. Takes no lock of ours: it may run in a finalizer."""
        self._closed = True
        for peer in self.peers.values():
            channel.close(peer.end)

    @contextmanager
    def quiet(self, wait_s: float) -> Iterator[bool]:
        """Hold the conversation if whoever has the turn leaves it in time; yield whether it is held."""
        held = self._turn.acquire(timeout=wait_s)
        try:
            yield held
        finally:
            if held:
                self._turn.release()

    def _drop_since(self, issued: int) -> None:
        for request_id in range(issued + 1, self.ledger.issued + 1):
            if self.ledger.is_open(request_id):
                self.drop(request_id)

    def _post(self, worker: int, request_id: int, message: object, ends: Deadline) -> None:
        if self.ledger.unanswered(worker) > UNANSWERED_MAX:
            cause = f"it has not answered {UNANSWERED_MAX} earlier requests"
            self.ledger.on_unsent(worker, request_id, Failure(cause=cause, traceback=""))
            return
        try:
            channel.send(self.peers[worker].end, message)
        except ChannelClosed:
            self._on_closed(worker, ends)

    def _look(self, workers: Iterable[int], deadline: Deadline) -> None:
        """Wait for something of `workers`, up to the deadline, and enter all that is there."""
        present = {
            w: p for w, p in self.peers.items() if w in workers and w not in self.ledger.lost
        }
        sentinels = {s: w for w, p in present.items() if (s := p.sentinel) is not None}
        ready = channel.wait([p.end for p in present.values()], sentinels, deadline)
        ends = Deadline.after(_END_WAIT_S)
        for worker, peer in present.items():
            if peer.end in ready:
                self._take_all(worker, peer, ends)
        for sentinel, worker in sentinels.items():
            if sentinel in ready:  # after its last words were taken
                self._on_closed(worker, ends)

    def _take_all(self, worker: int, peer: Peer, ends: Deadline) -> None:
        try:
            while peer.end.has_message() or peer.end.closed:  # what has come in is split already
                answer: Answer = channel.recv(peer.end)
                if self.ledger.on_answer(worker, answer.request_id, answer.failure) is None:
                    self._answers.setdefault(answer.request_id, {})[worker] = answer
        except ChannelClosed:
            self._on_closed(worker, ends)

    def _on_closed(self, worker: int, ends: Deadline) -> None:
        """Enter why a worker can no longer be reached: it is dead by then, or only its channel is closed."""
        peer = self.peers[worker]
        # A process that is going closes its descriptors first, and can be waited for only then.
        gone = peer.owned is not None and peer.owned.join(
            Deadline.after(0.0) if self._closed else ends
        )
        if gone or peer.owned is None:
            self.ledger.on_lost(worker, Died(exitcode=peer.exitcode), gone=gone)
        else:
            failure = Failure(cause="the channel to it is closed", traceback="")
            self.ledger.on_lost(worker, Failed(failure=failure), gone=False)

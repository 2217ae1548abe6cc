"""Wrong senders of weights: whom they send to, whose answers they take, and what they make of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.adapters._reference_weights import SchemeWeights
from harness.planted.weights import planted, replaced
from harness.ports.weights import Misuse
from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import ReceiveTimeout, WorkerError
from reference_impl.weights import conversation, sender, sender_calls, workers
from reference_impl.weights.conversation import Conversation
from reference_impl.weights.errors import AnswerTimeout
from reference_impl.weights.ledger import Ledger
from reference_impl.weights.messages import Answer
from reference_impl.weights.outgoing import Outgoing


class _ToEverybody(Outgoing):
    def send(
        self,
        weights: Any,
        worker_ids: int | Iterable[int] | None,
        deadline: Deadline,
        *,
        wait: bool,
    ) -> int:
        """Send to all workers, whoever is named."""
        self.sender.conversation.ledger.targets(worker_ids)
        return super().send(weights, None, deadline, wait=wait)


class _ToWhoeverIsThere(Ledger):
    def targets(self, worker_ids: int | Iterable[int] | None) -> tuple[int, ...]:
        """Those that are named and exist, each once; nobody is refused."""
        if worker_ids is None:
            return super().targets(None)
        named = (worker_ids,) if isinstance(worker_ids, int) else tuple(worker_ids)
        return tuple(dict.fromkeys(each for each in named if each in range(self.num_workers)))


class _Unconnected(SchemeWeights):
    def misuse(self, what: Misuse) -> None:
        """A send that comes too early is silently nothing."""
        if what not in ("before_setup", "before_connect"):
            super().misuse(what)


class _AcksWithoutId(Conversation):
    """Takes the next ack of each worker for the answer, and leaves the others' after a failure."""

    def begin(self, targets: tuple[int, ...], version: int | None = None) -> int:
        """Open a request; nobody looks for late acks."""
        return self.ledger.begin(targets, version)

    def gather(self, request_id: int, operation: str, deadline: Deadline) -> dict[int, Answer]:
        """Take one ack a worker, in the order of the workers, up to the first failure."""
        answers: dict[int, Answer] = {}
        for worker in self.ledger.waiting(request_id):
            end = self.peers[worker].end
            if not channel.wait((end,), (), deadline):
                raise AnswerTimeout((worker,), operation, request_id)
            ack: Answer = channel.recv(end)
            self.ledger.on_answer(worker, request_id, ack.failure)
            if ack.failure is not None:
                raise WorkerError(worker, operation, ack.failure.cause, ack.failure.traceback)
            answers[worker] = ack
        self.ledger.conclude(request_id)
        return answers


class _OneByOne(Conversation):
    """Gives each worker the whole time again."""

    def gather(self, request_id: int, operation: str, deadline: Deadline) -> dict[int, Answer]:
        """Wait for one worker after the other before all are waited for."""
        patience = deadline.left()
        for worker in self.ledger.waiting(request_id):
            each = Deadline.after(patience)
            channel.wait((self.peers[worker].end,), (), each)
        return super().gather(request_id, operation, Deadline.after(0.1))


class _Patient(Conversation):
    """Waits three times as long as it was asked to."""

    def gather(self, request_id: int, operation: str, deadline: Deadline) -> dict[int, Answer]:
        """Begin again twice whatever is late."""
        patience = deadline.left()
        late = Deadline.after(None if patience is None else 3.0 * patience)
        return super().gather(request_id, operation, late)


class _Impatient(Conversation):
    """Takes whatever has not been answered in an instant for lost."""

    INSTANT_S = 0.2

    def gather(self, request_id: int, operation: str, deadline: Deadline) -> dict[int, Answer]:
        """Wait for an instant, but where workers are started."""
        late = operation in ("start", "connect", "forward")
        return super().gather(
            request_id, operation, deadline if late else Deadline.after(self.INSTANT_S)
        )


class _Laconic(Conversation):
    """Says that something failed, and nothing else."""

    def gather(self, request_id: int, operation: str, deadline: Deadline) -> dict[int, Answer]:
        """Replace whatever went wrong in a worker."""
        try:
            return super().gather(request_id, operation, deadline)
        except Exception as error:  # noqa: BLE001 - this is the bug: whatever it was, nobody learns of it
            lost: Exception | None = error
            error.__traceback__ = None
        del lost
        raise RuntimeError("something failed")  # here, where it has no context


class _Waiting(Outgoing):
    """Sends to nobody as long as anybody has something left to answer."""

    def send(self, *args: Any, **kwargs: Any) -> int:
        """Refuse a send while an earlier one is unanswered."""
        talk = self.sender.conversation
        if any(talk.ledger.unanswered(worker) for worker in talk.peers):
            raise AnswerTimeout((), "send", 0)
        return super().send(*args, **kwargs)


class _LastRefused(Outgoing):
    """Is of no use any more once a send has failed."""

    _broken: BaseException | None = None

    def send(self, *args: Any, **kwargs: Any) -> int:
        """Refuse whatever comes after a failure."""
        if self._broken is not None:
            raise RuntimeError("the scheme is broken")
        try:
            return super().send(*args, **kwargs)
        except (WorkerError, ReceiveTimeout) as error:
            self._broken = error
            raise


class _Unclosable(SchemeWeights):
    _is_closed = False

    def close(self) -> None:
        """Closing what is closed raises."""
        if self._is_closed:
            raise RuntimeError("closed already")
        self._is_closed = True
        super().close()


class _KeptForEver(SchemeWeights):
    kept: list[Any] = []  # noqa: RUF012 - this is the bug: it is shared

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kept.append(self._workers)


subset_ignored = replaced("subset_ignored", sender_calls, "Outgoing", _ToEverybody)
anybody_accepted = replaced("anybody_accepted", conversation, "Ledger", _ToWhoeverIsThere)
sent_before_connected = planted("sent_before_connected", sync=_Unconnected)
ack_without_id = replaced("ack_without_id", sender, "Conversation", _AcksWithoutId)
timeout_per_worker = replaced("timeout_per_worker", sender, "Conversation", _OneByOne)
timeout_tripled = replaced("timeout_tripled", sender, "Conversation", _Patient)
slow_taken_for_lost = replaced("slow_taken_for_lost", sender, "Conversation", _Impatient)
failure_unexplained = planted(
    "failure_unexplained",
    (sender, "Conversation", _Laconic),
    (workers, "Conversation", _Laconic),
)
others_held_up = replaced("others_held_up", sender_calls, "Outgoing", _Waiting)
unusable_after_a_failure = replaced(
    "unusable_after_a_failure", sender_calls, "Outgoing", _LastRefused
)
second_scheme_close_raises = planted("second_scheme_close_raises", sync=_Unclosable)
trainer_kept = planted("trainer_kept", sync=_KeptForEver)

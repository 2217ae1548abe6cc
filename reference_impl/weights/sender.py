"""The sending half of the by-copy scheme: snapshot, tell everybody, gather the acks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_impl.core import channel
from reference_impl.weights import packing
from reference_impl.weights.conversation import Conversation, Owned, Peer
from reference_impl.weights.messages import Ack, LoadWeights
from reference_impl.weights.store import SnapshotStore

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from reference_impl.core.channel import End
    from reference_impl.core.clock import Deadline
    from reference_impl.weights.messages import Payload
    from reference_impl.weights.store import SnapshotReader


class Sender:
    """Sends snapshots of weights to workers.

    Attributes:
        num_workers: how many workers there are.
        version: version of the last snapshot that was begun to be sent; -1 before the first.
    """

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers
        self.version = -1
        self._conversation = Conversation(num_workers)
        self._store = SnapshotStore()
        self._payloads: dict[int, Payload] = {}  # by request id, as long as a worker may read them

    @property
    def conversation(self) -> Conversation:
        """What is asked and answered; its ledger records acks that were dropped."""
        return self._conversation

    def link(self, worker: int, kind: Literal["process", "thread"]) -> tuple[End, SnapshotReader]:
        """Open the channel to a worker and return what the worker needs: its end, and a reader."""
        ours, theirs = channel.pair(kind)
        self._conversation.peers[worker] = Peer(end=ours)
        return theirs, self._store.reader()

    def watch(self, worker: int, owned: Owned) -> None:
        """Take the end of this process or thread for the end of the worker."""
        self._conversation.peers[worker].owned = owned

    def send(
        self,
        weights: packing.Source,
        worker_ids: int | Iterable[int] | None,
        operation: str,
        deadline: Deadline,
    ) -> int:
        """Snapshot the weights now, send them, and return their version once every target holds it.

        Args:
            weights: what to send.
            worker_ids: the targets; None means all.
            operation: what errors call this.
            deadline: for everything together.

        Raises:
            ValueError, TypeError: worker ids or weights are not valid; nothing was sent.
            Closed, WorkerError, AnswerTimeout: as `Conversation.ask`.
        """
        talk = self._conversation
        targets = talk.ledger.targets(worker_ids)
        tensors = packing.tensors_of(weights)
        try:
            with talk.turn(operation, deadline):
                self._free_settled()
                payload = self._store.put(tensors)
                self.version += 1
                request_id = talk.begin(targets, self.version)
                self._payloads[request_id] = payload
                message = LoadWeights(request_id=request_id, version=self.version, payload=payload)
                return self._deliver(message, operation, deadline)
        finally:
            if talk.closed:
                self.close()

    def close(self) -> None:
        """Hang up on every worker and free the memory; closing again, also from a finalizer, does nothing more."""
        self._conversation.close()
        with self._conversation.quiet(0.0) as quiet:
            if quiet:  # else whoever has the turn frees it when leaving
                self._payloads.clear()
                self._store.close()

    def _deliver(self, message: LoadWeights, operation: str, deadline: Deadline) -> int:
        talk = self._conversation
        try:
            answers = talk.ask(message.request_id, message, operation, deadline)
        finally:
            self._free_settled()
        for ack in answers.values():
            assert isinstance(ack, Ack)
            assert ack.version == message.version
        return message.version

    def _free_settled(self) -> None:
        talk = self._conversation
        for request_id in [r for r in self._payloads if talk.ledger.settled(r)]:
            self._store.free(self._payloads.pop(request_id))

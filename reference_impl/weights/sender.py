"""The sending half of a scheme: snapshot, tell everybody, gather the acks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from reference_impl.core import channel
from reference_impl.weights.conversation import Conversation, Owned, Watched
from reference_impl.weights.messages import LoadWeights
from reference_impl.weights.store import SnapshotStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Literal

    from reference_impl.core.channel import End
    from reference_impl.core.clock import Deadline
    from reference_impl.weights.flattening import Flat
    from reference_impl.weights.messages import Payload
    from reference_impl.weights.store import SnapshotReader


class Sender:
    """Sends snapshots of weights to workers; holds nothing of where they come from.

    `post`, `bring` and `gather` are called by who has the `turn`.

    Attributes:
        num_workers: how many workers there are.
        version: version of the last snapshot that was begun to be sent; -1 before the first.
    """

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers
        self.version = -1
        self._conversation = Conversation(num_workers)
        self._store = SnapshotStore()
        # By request id and worker, as long as somebody may read them.
        self._payloads: dict[int, dict[int, Payload]] = {}
        self._versions: dict[int, int] = {}

    @property
    def conversation(self) -> Conversation:
        """What is asked and answered; its ledger records acks that were dropped."""
        return self._conversation

    @property
    def slot_count(self) -> int:
        """How many snapshots there is memory for."""
        return self._store.slot_count

    def link(self, worker: int, kind: Literal["process", "thread"]) -> tuple[End, SnapshotReader]:
        """Open the channel to a worker and return what the worker needs: its end, and a reader.

        A worker that had one before is taken for lost.
        """
        ours, theirs = channel.pair(kind)
        self._conversation.replace(worker, ours)
        return theirs, self._store.reader()

    def watch(self, worker: int, owned: Owned | Watched) -> None:
        """Take the end of this process or thread for the end of the worker."""
        self._conversation.peers[worker].owned = owned

    @contextmanager
    def turn(self, operation: str, deadline: Deadline) -> Iterator[None]:
        """Hold the conversation as `Conversation.turn` does, and free the memory if it was closed meanwhile."""
        try:
            with self._conversation.turn(operation, deadline):
                yield
        finally:
            if self._conversation.closed:
                self.close()

    def post(self, snapshots: Iterable[tuple[tuple[int, ...], Flat]]) -> int:
        """Snapshot weights now and tell their workers; return the request's id.

        Args:
            snapshots: weights, and the workers that get them; the next is only asked for once the
                one before it is copied.

        Raises:
            ValueError, TypeError: something is not valid; nothing was sent.
            Exception: what making the weights raises; nothing was sent.
        """
        self._free_unneeded()
        version = self.version + 1
        payloads: dict[int, Payload] = {}
        try:
            for workers, flat in snapshots:
                payload = self._store.put(flat, version)
                payloads.update(dict.fromkeys(workers, payload))
        except BaseException:
            self._free_unneeded()
            raise
        self.version = version
        return self._instruct(version, payloads)

    def bring(self, worker: int) -> int:
        """Tell a worker to take what the place it has holds, or else the newest; return the request's id."""
        ledger = self._conversation.ledger
        known = [ledger.current(w) for w in (worker, *range(self.num_workers))]
        sent = [request for request in known if request is not None]
        assert sent  # a worker is brought what others have
        request = sent[0] if known[0] is not None else max(sent)
        payloads = self._payloads[request]
        payload = payloads.get(worker, next(iter(payloads.values())))
        return self._instruct(self._versions[request], {worker: payload})

    def gather(self, request_id: int, operation: str, deadline: Deadline) -> int:
        """Wait for all targets of a request; return its version once each of them holds it.

        Raises:
            Closed, WorkerError, AnswerTimeout: as `Conversation.gather`.
        """
        version = self._versions[request_id]
        try:
            self._conversation.gather(request_id, operation, deadline)
        finally:
            self._free_unneeded()
        return version

    def close(self) -> None:
        """Hang up on every worker and free the memory; closing again, also from a finalizer, does nothing more."""
        self._conversation.close()
        with self._conversation.quiet(0.0) as quiet:
            if quiet:  # else whoever has the turn frees it when leaving
                self._forget()

    def abandon(self) -> None:
        """Drop what a forked process has inherited; those that it belongs to go on."""
        for peer in self._conversation.peers.values():
            channel.abandon(peer.end)
        self._forget()

    def _instruct(self, version: int, payloads: dict[int, Payload]) -> int:
        talk = self._conversation
        request_id = talk.begin(tuple(payloads), version)
        self._payloads[request_id] = payloads
        self._versions[request_id] = version
        messages = {
            worker: LoadWeights(request_id=request_id, version=version, payload=payload)
            for worker, payload in payloads.items()
        }
        talk.post(request_id, messages)
        return request_id

    def _free_unneeded(self) -> None:
        ledger = self._conversation.ledger
        for request_id in [r for r in self._payloads if not ledger.needed(r)]:
            del self._payloads[request_id], self._versions[request_id]
        self._store.keep(
            {payload.offset for each in self._payloads.values() for payload in each.values()}
        )

    def _forget(self) -> None:
        self._payloads.clear()
        self._versions.clear()
        self._store.close()

"""The receiving half of the by-copy scheme: a thread in the worker that applies snapshots between forwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_impl.core import channel
from reference_impl.core.channel import ChannelClosed
from reference_impl.core.ownership import OwnedThread, start_thread
from reference_impl.weights.messages import Ack, failure_of

if TYPE_CHECKING:
    from reference_impl.core.channel import End
    from reference_impl.core.clock import Deadline
    from reference_impl.weights.messages import Failure, LoadWeights
    from reference_impl.weights.store import SnapshotReader
    from reference_impl.weights.target import Target


class Receiver:
    """Reads a payload before it takes the lock that a forward holds, applies it under it, then acknowledges."""

    def __init__(self, target: Target, end: End, reader: SnapshotReader, worker: int) -> None:
        self._target = target
        self._end = end
        self._reader = reader
        self._worker = worker
        self._thread: OwnedThread | None = None

    def start(self) -> None:
        """Start the thread; it ends when the channel is closed, by either side."""
        self._thread = start_thread(self._run, (), name=f"weights-receiver-{self._worker}")

    def stop(self, deadline: Deadline) -> bool:
        """Close the channel and wait for the thread; return whether it ended."""
        channel.close(self._end)
        return self._thread is None or self._thread.join(deadline)

    def _run(self) -> None:
        try:
            while True:
                channel.send(self._end, self._answer(channel.recv(self._end)))
        except ChannelClosed:  # the owner has hung up: there is nobody left to tell
            return
        finally:
            channel.close(self._end)
            self._reader.close()

    def _answer(self, message: LoadWeights) -> Ack:
        failure: Failure | None = None
        try:
            layout, data = self._reader.read(message.payload)
            self._target.apply(message.version, layout, data)
        except BaseException as error:  # noqa: BLE001 - whatever the model raises is this request's answer
            failure = failure_of(error)
        return Ack(request_id=message.request_id, version=message.version, failure=failure)

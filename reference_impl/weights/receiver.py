"""The receiving half of a scheme: a thread in the worker that applies snapshots between forwards."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Final

import torch

from reference_impl.core import channel
from reference_impl.core.channel import ChannelClosed
from reference_impl.core.ownership import OwnedThread, start_thread
from reference_impl.weights.messages import Ack, LoadWeights, failure_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_impl.core.channel import End
    from reference_impl.core.clock import Deadline
    from reference_impl.weights import packing
    from reference_impl.weights.messages import Failure, Payload
    from reference_impl.weights.store import SnapshotReader
    from reference_impl.weights.target import Target

_LOG: Final = logging.getLogger("reference_impl.weights")


class Receiver:
    """Reads a payload before it takes the lock that a forward holds, applies it under it, then acknowledges.

    Args:
        target: what snapshots are applied to.
        end: the worker's end of the channel to the sender.
        reader: reads payloads.
        worker: index of the worker.
        private: whether the model acts on a copy of its own, or in shared memory.
    """

    def __init__(
        self, target: Target, end: End, reader: SnapshotReader, worker: int, *, private: bool = True
    ) -> None:
        self._target = target
        self._end = end
        self._reader = reader
        self._worker = worker
        self._copies = _Copies() if private else None
        self._held: tuple[LoadWeights, packing.Layout, torch.Tensor] | None = None
        self._left: Payload | None = None
        self._thread: OwnedThread | None = None
        self._over = False
        # Guards all of the above; notified whenever a message was answered, and at the end.
        self._answered = threading.Condition()
        self.answered = 0
        self._applied = 0  # snapshots
        self._told = 0  # of those, how many the worker knows of
        self.failure: Failure | None = None
        self.on_applied: Callable[[], None] = lambda: None

    @property
    def target(self) -> Target:
        """What snapshots are applied to."""
        return self._target

    def start(self) -> None:
        """Start the thread, if there is none; it ends when the channel is closed, by either side."""
        if self._thread is None:
            self._thread = start_thread(self._run, (), name=f"weights-receiver-{self._worker}")

    def stop(self, deadline: Deadline) -> bool:
        """Close the channel and wait for the thread; return whether it ended."""
        channel.close(self._end)
        return self._thread is None or self._thread.join(deadline)

    def wait_first(self, deadline: Deadline) -> None:
        """Wait for the first weights.

        Raises:
            TimeoutError: none came in time.
            RuntimeError: the model could not take them, or the sender hung up before.
        """
        with self._answered:
            self._answered.wait_for(lambda: self.answered or self._over, deadline.left())
            if not self.answered and self._over:
                raise RuntimeError("the sender hung up before it sent any weights")
            if not self.answered:
                raise TimeoutError(f"worker {self._worker}: no weights came in time")
            if self._target.version < 0 and self.failure is not None:
                raise RuntimeError(f"{self.failure.cause}\n\n{self.failure.traceback}")
            self._told = self._applied

    def wait_applied(self, deadline: Deadline) -> bool:
        """Wait until something was applied that neither this nor `wait_first` has told of; return whether it was."""
        with self._answered:
            self._answered.wait_for(
                lambda: self._applied > self._told or self._over, deadline.left()
            )
            more = self._applied > self._told
            self._told = self._applied
            return more

    def retarget(self, target: Target) -> None:
        """From now on apply to `target`, beginning with the version that is held.

        Raises:
            Exception: as `Target.apply`; the old target stays, and the new one's model is let go.
        """
        with self._answered:
            try:
                if self._held is not None:
                    message, layout, data = self._held
                    target.apply(message.version, layout, data)
            except BaseException:
                target.release()
                raise
            self._target.release()
            self._target = target

    def _run(self) -> None:
        try:
            while True:
                message = channel.recv(self._end)
                with self._answered:
                    ack = self._answer(message)
                    channel.send(self._end, ack)
                    os.sched_yield()  # the sender, which waits for the ack, goes first
                    self._tidy()
                    self.answered, self.failure = self.answered + 1, ack.failure
                    self._answered.notify_all()
        except ChannelClosed:  # the owner has hung up: there is nobody left to tell
            return
        finally:
            channel.close(self._end)
            self._reader.close()
            with self._answered:
                self._over = True
                self._answered.notify_all()

    def _answer(self, message: LoadWeights) -> Ack:
        failure: Failure | None = None
        try:
            self._take(message)
        except BaseException as error:  # noqa: BLE001 - whatever the model raises is this request's answer
            failure = failure_of(error)
            _LOG.error("worker %d kept its old weights: %s", self._worker, failure.cause)
        request_id = getattr(message, "request_id", 0)
        return Ack(request_id=request_id, version=getattr(message, "version", -1), failure=failure)

    def _take(self, message: LoadWeights) -> None:
        if not isinstance(message, LoadWeights):
            raise TypeError(f"unknown instruction: {message!r:.200}")
        if message.version <= self._target.version:
            return  # a repeated or an overtaken one: versions never go back
        layout, data = self._reader.read(message.payload, message.version)
        if self._copies is not None:
            data = self._copies.of(data)
        self._target.apply(message.version, layout, data)
        if self._copies is not None:
            self._copies.turn()
        elif self._held is not None and self._held[0].payload.offset != message.payload.offset:
            self._left = self._held[0].payload
        self._held = (message, layout, data)
        self._applied += 1
        self.on_applied()

    def _tidy(self) -> None:
        left, self._left = self._left, None
        if left is not None:
            self._reader.refresh(left)


class _Copies:
    """Two private copies by turns: the one that the model acts on, and the one that is written next."""

    def __init__(self) -> None:
        self._memory = [torch.empty(0, dtype=torch.uint8) for _ in range(2)]

    def of(self, data: torch.Tensor) -> torch.Tensor:
        """Return a copy of `data` in memory that nobody acts on."""
        spare = self._memory[0]
        if spare.numel() < data.numel():
            spare = self._memory[0] = torch.empty(data.numel(), dtype=torch.uint8)
        copy = spare[: data.numel()]
        copy.copy_(data)
        return copy

    def turn(self) -> None:
        """Take the copy that was made last for the one that is acted on."""
        self._memory.reverse()

"""`MultiProcessWeightSyncScheme`: weights by copy, in torchrl's vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.weights.packing import tensors_of
from reference_impl.weights.receiver import Receiver
from reference_impl.weights.sender import Sender
from reference_impl.weights.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from torch import nn

    from reference_impl.core.channel import End
    from reference_impl.weights.conversation import Owned
    from reference_impl.weights.packing import Source
    from reference_impl.weights.store import SnapshotReader

DEFAULT_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    worker: int
    end: End
    reader: SnapshotReader
    trainers_memory: frozenset[int] = (
        frozenset()
    )  # addresses: they mean something in one process only


class MultiProcessWeightSyncScheme:
    """Sends weights to workers by copy: a worker acts on versions that were sent, each of them whole, and on no others.

    The sender calls `init_on_sender`, gives each worker what `for_worker` returns (as an argument
    of its process or thread), and calls `connect`, which brings version 0 to all of them; each
    worker calls `init_on_receiver` and `connect`. `PolicyWorkers` does all of this but
    `init_on_sender`. From then on `send` may be called from any thread.

    A send takes a snapshot when it is called: what happens to the trainer's tensors later is not
        seen by any worker, and
    they are only read. A worker holds a lock for the whole of a forward and applies weights under
    it.
    """

    def __init__(self) -> None:
        self._model: nn.Module | None = None
        self._sender: Sender | None = None
        self._receiver: Receiver | None = None
        self._target: Target | None = None
        self._link: _Link | None = None
        self._connected = False

    def __reduce__(self) -> tuple[Any, ...]:
        if self._link is None:
            raise TypeError("only what for_worker() returned can be given to a worker")
        return _from_link, (self._link,)

    @property
    def initialized_on_sender(self) -> bool:
        """Whether `init_on_sender` was called."""
        return self._sender is not None

    @property
    def initialized_on_receiver(self) -> bool:
        """Whether `init_on_receiver` was called."""
        return self._receiver is not None

    @property
    def version(self) -> int:
        """The last version that the sender has begun to send, or that the receiver's model holds; -1: none yet."""
        if self._target is not None:
            return self._target.version
        return -1 if self._sender is None else self._sender.version

    @property
    def target(self) -> Target:
        """The model of this worker, with the lock that its forward holds.

        Raises:
            RuntimeError: before `init_on_receiver`.
        """
        if self._target is None:
            raise RuntimeError("target: call init_on_receiver first")
        return self._target

    @property
    def sender(self) -> Sender:
        """The sending side, without the model.

        Raises:
            RuntimeError: before `init_on_sender`.
        """
        return self._set_up("sender")

    @property
    def num_workers(self) -> int:
        """How many workers the sender was set up for.

        Raises:
            RuntimeError: before `init_on_sender`.
        """
        return self._set_up("num_workers").num_workers

    def init_on_sender(self, *, model: nn.Module, num_workers: int) -> None:
        """Set up the sending side; nothing is sent.

        Args:
            model: what `send()` sends when it is given no weights; never written to.
            num_workers: how many workers there will be, at least 1.

        Raises:
            ValueError: there is no worker.
            RuntimeError: this scheme was set up already.
        """
        if num_workers < 1:
            raise ValueError(f"num_workers must be at least 1, got {num_workers}")
        if self._sender is not None or self._link is not None:
            raise RuntimeError("init_on_sender: the scheme was set up already")
        self._model = model
        self._sender = Sender(num_workers)

    def for_worker(
        self, worker_idx: int, *, kind: Literal["process", "thread"] = "process"
    ) -> MultiProcessWeightSyncScheme:
        """Return the receiving side for one worker, to be handed to it.

        Raises:
            RuntimeError: before `init_on_sender`.
            ValueError: there is no such worker, or it was given its side already.
        """
        sender = self._set_up("for_worker")
        if worker_idx not in range(sender.num_workers) or worker_idx in sender.conversation.peers:
            raise ValueError(f"worker_idx {worker_idx} is unknown, or has its side already")
        end, reader = sender.link(worker_idx, kind)
        memory = _memory_of(self._source(None)) if kind == "thread" else frozenset()
        return _from_link(_Link(worker=worker_idx, end=end, reader=reader, trainers_memory=memory))

    def hand_over(self) -> None:
        """Drop this process's copy of what `for_worker` returned, once another process has got it.

        Raises:
            RuntimeError: this is not what `for_worker` returned.
        """
        if self._link is None:
            raise RuntimeError("hand_over: only what for_worker() returned can be handed over")
        channel.abandon(self._link.end)
        self._link.reader.close()

    def watch(self, worker_idx: int, owned: Owned) -> None:
        """Say which process or thread a worker is, so that its death ends every wait for it."""
        self._set_up("watch").watch(worker_idx, owned)

    def init_on_receiver(self, *, model: nn.Module, worker_idx: int) -> None:
        """Set up the receiving side in a worker: from now on `model.forward` holds the lock.

        Args:
            model: the worker's own model; weights are written into it.
            worker_idx: which worker this is.

        Raises:
            RuntimeError: this is not what `for_worker` returned, or it was set up already.
            ValueError: it is another worker's, or the model shares tensors with the trainer's.
        """
        if self._link is None or self._receiver is not None:
            raise RuntimeError("init_on_receiver: call it once, on what for_worker() returned")
        if worker_idx != self._link.worker:
            raise ValueError(
                f"worker_idx is {worker_idx}, but this side is worker {self._link.worker}'s"
            )
        if self._link.trainers_memory & _memory_of(model):
            raise ValueError("the worker's model shares tensors with the model that is sent")
        self._target = Target(model)
        self._receiver = Receiver(self._target, self._link.end, self._link.reader, worker_idx)

    def connect(
        self,
        *,
        worker_idx: int | None = None,
        weights: Source | None = None,
        timeout: float | None = DEFAULT_TIMEOUT_S,
    ) -> None:
        """On a worker: start listening. On the sender: bring the first weights, version 0, to every worker.

        Args:
            worker_idx: on a worker, which it is.
            weights: on the sender, what to send; None means the model.
            timeout: on the sender, as for `send`.

        Raises:
            RuntimeError: the side was not set up, or was connected already.
            Exception: on the sender, whatever `send` raises.
        """
        if self._connected:
            raise RuntimeError("connect: the scheme is connected already")
        if self._receiver is not None and worker_idx is not None:
            self._receiver.start()
        else:
            sender = self._set_up("connect")
            if len(sender.conversation.peers) != sender.num_workers:
                raise RuntimeError("connect: not every worker was given its side (for_worker)")
            sender.send(self._source(weights), None, "connect", Deadline.after(timeout))
        self._connected = True

    def send(
        self,
        weights: Source | None = None,
        worker_ids: int | Iterable[int] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT_S,
    ) -> int:
        """Send a snapshot of the weights, taken now; return its version once every target holds it.

        Every target is told before the first is waited for. The error, if any, is raised once every
        target has answered or is dead, or when the deadline has come, and names all that failed. A
        worker that could not apply the weights keeps those it has, whole; the next send does not
        depend on this one. An answer that comes later is dropped.

        Args:
            weights: a Module, a TensorDict, or a mapping of names (as in a `state_dict`) to
                tensors, on any device; None means the model of `init_on_sender`. Names, shapes and
                dtypes must be those of the workers' model.
            worker_ids: the targets; None means all.
            timeout: seconds for everything together; None means no limit.

        Raises:
            ValueError: an id is unknown or named twice, none is named, or `timeout` is negative;
                nothing was sent.
            TypeError: `weights` are no weights; nothing was sent.
            WorkerError: a target failed or died (`WorkerDied`), with its cause and traceback; of
                several, `WorkersFailed`.
            AnswerTimeout: targets were only late: they may still apply it.
            Closed: the scheme is closed.
            RuntimeError: before `connect`.
        """
        sender = self._set_up("send")
        if not self._connected:
            raise RuntimeError("send: call connect first")
        return sender.send(self._source(weights), worker_ids, "send", Deadline.after(timeout))

    def channels(self) -> dict[str, list[End]]:
        """Return the sender's ends by direction; a duplex end carries both."""
        ends = [peer.end for _, peer in sorted(self._set_up("channels").conversation.peers.items())]
        return {"instructions": ends, "acks": list(ends)}

    def shutdown(self, timeout: float = 1.0) -> None:
        """Hang up, on either side; doing it again does nothing more.

        Args:
            timeout: on a worker, seconds to wait for the receiving thread.
        """
        if self._receiver is not None:
            self._receiver.stop(Deadline.after(timeout))
        if self._link is not None:
            channel.close(self._link.end)
            self._link.reader.close()
        if self._sender is not None:
            self._sender.close()

    def _source(self, weights: Source | None) -> Source:
        source = self._model if weights is None else weights
        assert source is not None
        return source

    def _set_up(self, operation: str) -> Sender:
        if self._sender is None:
            raise RuntimeError(f"{operation}: call init_on_sender first")
        return self._sender


def _memory_of(source: Source) -> frozenset[int]:
    tensors = tensors_of(source).values()
    return frozenset(t.untyped_storage().data_ptr() for t in tensors if t.numel())


def _from_link(link: _Link) -> MultiProcessWeightSyncScheme:
    scheme = MultiProcessWeightSyncScheme()
    scheme._link = link  # noqa: SLF001 - a constructor that users have no use for
    return scheme

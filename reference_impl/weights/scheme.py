"""The weight sync schemes, in torchrl's vocabulary: by private copy, and from shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_impl.core.clock import Deadline
from reference_impl.weights.packing import weights_of
from reference_impl.weights.scheme_base import START_TIMEOUT_S, arrived
from reference_impl.weights.sender_calls import SenderCalls
from reference_impl.weights.worker_calls import WorkerCalls

if TYPE_CHECKING:
    import torch
    from torch import nn

    from reference_impl.weights.packing import Source, Strategy


class WeightSyncScheme(SenderCalls, WorkerCalls):
    """Sends versions of one model's weights to workers; each acts on versions that were sent, each of them whole.

    Set-up has two phases. The sender calls `init_on_sender`, which takes note of whose weights are
    meant, then workers are started, each with the scheme, or what `for_worker` returned, among its
    arguments; there they call `init_on_receiver` and `connect`. The sender's `connect` brings them
    version 0. A torchrl collector does all of this for `weight_sync_schemes={"policy": scheme}`, and
    `PolicyWorkers` all but `init_on_sender`. From then on `send` may be called from any thread.

    A send takes a snapshot when it is called: what happens to the trainer's tensors later is not
    seen by any worker, and they are only read. A worker holds a lock for the whole of a forward, and
    changes to another version under it.

    Args:
        strategy: of a module, "state_dict" sends what its `state_dict` has, "tensordict" its
            non-persistent buffers, too.
        sync: whether `send` waits for the workers; if not, `wait_async` does.

    Raises:
        ValueError: there is no such strategy.
    """

    def __init__(self, strategy: Strategy = "tensordict", sync: bool = True) -> None:  # noqa: FBT001, FBT002 - torchrl's
        super().__init__(strategy, sync=sync)

    def __reduce__(self) -> tuple[Any, ...]:
        sides = self._sides if self._out is None else self._out.sides
        if not sides:
            raise TypeError("a scheme is given to workers after init_on_sender and before connect")
        return arrived, (type(self), self._options(), self.model_id, dict(sides))

    @property
    def version(self) -> int:
        """The last version that the sender has begun to send, or that the receiver's model holds; -1: none yet."""
        if self._receiver is not None:
            return self._receiver.target.version
        return -1 if self._out is None else self._out.sender.version

    @property
    def model(self) -> Any | None:
        """The model that is sent, or that this worker's weights are applied to; None if there is none."""
        if self._receiver is not None:
            return self._receiver.target.model
        source = self._out.recipe.base() if self._out is not None else None
        return source if hasattr(source, "state_dict") else None

    @model.setter
    def model(self, model: nn.Module) -> None:
        self.aim(model)

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """The tensors of `model` by name: its own memory, not a copy."""
        model = self.model
        return {} if model is None else weights_of(model, self.strategy).tensors

    def connect(
        self,
        *,
        worker_idx: int | None = None,
        weights: Source | None = None,
        timeout: float | None = None,
    ) -> None:
        """On a worker: listen, and wait for the first weights. On the sender: bring them, as version 0.

        A sender that has a collector for its context does not wait for the workers: the collector
        does, and says best what has become of one.

        Args:
            worker_idx: on a worker, which it is; on the sender, the only worker that is meant, which
                may be connected again: it is brought the current version.
            weights: on the sender, what to send; None means what set-up said.
            timeout: seconds for everything together; None means 120.

        Raises:
            RuntimeError: no side was set up, or it was connected already; on a worker, the sender
                hung up, or the weights were not taken; weights were given to a worker.
            TimeoutError: on a worker, no weights came in time.
            Exception: on the sender, whatever `send` raises.
        """
        deadline = Deadline.after(START_TIMEOUT_S if timeout is None else timeout)
        if self._receiver is not None:
            if weights is not None:
                raise RuntimeError("connect: weights are given to the sender")
            if self._listening:
                raise RuntimeError("connect: this worker is connected already")
            self.listen()
            self._receiver.wait_first(deadline)
            return
        out = self._sending("connect")
        if worker_idx is None and self.synchronized_on_sender:
            raise RuntimeError("connect: the scheme is connected already")
        self._synchronize(out, worker_idx, weights, deadline)

    def synchronize_weights(
        self,
        *,
        worker_idx: int | None = None,
        weights: Source | None = None,
        timeout: float | None = None,
    ) -> None:
        """Do what `connect` does, as often as is wanted: workers that hold the current version keep it.

        Raises:
            Exception: as `connect`.
        """
        if self._receiver is not None and not self._listening:
            self.connect(worker_idx=worker_idx, weights=weights, timeout=timeout)
        elif self._receiver is None:
            deadline = Deadline.after(START_TIMEOUT_S if timeout is None else timeout)
            self._synchronize(self._sending("synchronize_weights"), worker_idx, weights, deadline)

    def shutdown(self, timeout: float = 1.0) -> None:
        """Hang up, on either side; doing it again does nothing more.

        Args:
            timeout: on a worker, seconds to wait for the receiving thread.
        """
        if self._receiver is not None:
            self._receiver.stop(Deadline.after(timeout))
        for side in self._sides.values():
            side.close()
        if self._out is not None and self.initialized_on_sender:
            self._out.close()


class MultiProcessWeightSyncScheme(WeightSyncScheme):
    """A `WeightSyncScheme` whose workers each act on a private copy of the weights."""

    private = True


class SharedMemWeightSyncScheme(WeightSyncScheme):
    """A `WeightSyncScheme` whose workers act on weights in memory that they share, where their models allow it.

    What a worker writes into its weights stays with it, and is gone with the next version. A model
    that decides for itself how it loads weights, or that is not on the CPU, gets a private copy.

    Args:
        strategy: as for every scheme.
        sync: as for every scheme.
        atomic: a version is acted on whole; the only way there is.

    Raises:
        ValueError: `atomic` is false.
    """

    private = False

    def __init__(
        self,
        strategy: Strategy = "tensordict",
        sync: bool = True,  # noqa: FBT001, FBT002 - torchrl's
        *,
        atomic: bool = True,
    ) -> None:
        if not atomic:
            raise ValueError("atomic must be true: no other way is implemented")
        super().__init__(strategy, sync=sync)

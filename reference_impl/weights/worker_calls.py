"""What a scheme offers to a worker."""

from __future__ import annotations

import functools
import os
import weakref
from typing import TYPE_CHECKING, Any

from torch import nn

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.weights import collectors
from reference_impl.weights.outgoing import memory_of
from reference_impl.weights.packing import pack, weights_of
from reference_impl.weights.receiver import Receiver
from reference_impl.weights.recipe import POLICY, model_of
from reference_impl.weights.scheme_base import SchemeBase
from reference_impl.weights.target import Target

if TYPE_CHECKING:
    import torch

    from reference_impl.core.channel import End
    from reference_impl.weights.outgoing import Side
    from reference_impl.weights.packing import Source, Strategy


class WorkerCalls(SchemeBase):
    """See `WeightSyncScheme`."""

    def __init__(self, strategy: Strategy, *, sync: bool) -> None:
        super().__init__(strategy, sync=sync)
        self._receiver: Receiver | None = None
        self._listening = False
        self._worker: int | None = None

    @property
    def initialized_on_receiver(self) -> bool:
        """Whether `init_on_receiver` was called."""
        return self._receiver is not None

    @property
    def synchronized_on_receiver(self) -> bool:
        """Whether this worker listens."""
        return self._receiver is not None and self._listening

    @property
    def worker_idx(self) -> int | None:
        """Which worker this is; None on the sender."""
        return self._worker

    @property
    def target(self) -> Target:
        """The model of this worker, with the lock that its forward holds.

        Raises:
            RuntimeError: before `init_on_receiver`.
        """
        return self._receiving("target").target

    def init_on_receiver(
        self,
        *,
        model_id: str | None = None,
        context: Any = None,
        model: nn.Module | None = None,
        worker_idx: int | None = None,
    ) -> None:
        """Set up the receiving side in a worker: from now on `model.forward` holds the lock. Again: for another model.

        Args:
            model_id: what the context calls the model.
            context: has the model and perhaps `worker_idx`; held weakly.
            model: the worker's own model; it acts on the weights that are sent. Tensors on the
                device `meta` get a place on the CPU with the first of them.
            worker_idx: which worker this is.

        Raises:
            RuntimeError: this is the sender, or no side of it.
            ValueError: something is missing, it is another worker's side, or the model shares tensors
                with the trainer's.
            AttributeError: the context has no such model.
            TypeError: the model is no module.
        """
        if context is not None:
            if model_id is None:
                raise ValueError("model_id must be provided if context is provided")
            model = model_of(context, model_id)
            worker_idx = getattr(context, "worker_idx", worker_idx)
        if worker_idx is None:
            raise ValueError("worker_idx must be provided via context or kwargs")
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be a Module, got {type(model).__name__}")
        side = self._take_side(worker_idx)
        if self._receiver is not None:
            self.aim(model)
        else:
            _refuse_trainers(side, model)
            self._receiver = Receiver(
                Target(model), side.end, side.reader, worker_idx, private=self.private
            )
            weakref.finalize(self, _hang_up, side.end, os.getpid())
        self.model_id, self.context = model_id, context
        if model_id in (None, POLICY):
            self._receiver.on_applied = functools.partial(_count, weakref.ref(self))

    def hand_over(self) -> None:
        """Drop this process's copy of what `for_worker` returned, once another process has got it.

        Raises:
            RuntimeError: this is not what `for_worker` returned.
        """
        if not self._sides:
            raise RuntimeError("hand_over: only what for_worker() returned can be handed over")
        for side in self._sides.values():
            side.abandon()

    def aim(self, model: nn.Module) -> None:
        """From now on apply weights to this model, beginning with those that the worker holds.

        Raises:
            RuntimeError: before `init_on_receiver`.
            ValueError: the model shares tensors with the trainer's.
            Exception: as `Target` and `Target.apply`; the former model stays.
        """
        receiver = self._receiving("model")
        if model is not receiver.target.model:
            for side in self._sides.values():
                _refuse_trainers(side, model)
            receiver.retarget(Target(model))

    def listen(self) -> None:
        """On a worker: take weights from now on, as they come; does not wait for the first.

        Raises:
            RuntimeError: before `init_on_receiver`.
        """
        self._receiving("listen").start()
        self._listening = True

    def receive(self, timeout: float | None = None) -> dict[str, torch.Tensor] | None:
        """On a worker: wait until weights were applied since `connect`, or since the last that this has returned.

        Those that came before the call count: whoever asks now and then misses no change, though of
        several it gets the newest only.

        Args:
            timeout: seconds to wait; 0 asks only; None means no limit.

        Returns:
            The weights, as `weights`; None if nothing came in time, or ever will.

        Raises:
            RuntimeError: the worker is not connected.
        """
        receiver = self._receiving("receive")
        if not self._listening:
            raise RuntimeError("receive: call connect first")
        if not receiver.wait_applied(Deadline.after(timeout)):
            return None
        return weights_of(receiver.target.model, self.strategy).tensors

    def apply_weights(self, weights: Source) -> None:
        """On a worker: have the model act on these weights, which nobody sent, under the version it has.

        Raises:
            RuntimeError: before `init_on_receiver`.
            Exception: as `Target.apply`.
        """
        self._receiving("apply_weights").target.apply_unsent(*pack(weights, self.strategy))

    def _take_side(self, worker_idx: int) -> Side:
        """Return this worker's side; other workers' are dropped."""
        self._leave_sender()
        if not self._sides:
            message = "init_on_receiver: call init_on_sender first, and give workers the scheme, or for_worker()"
            raise RuntimeError(message)
        side = self._sides.get(worker_idx)
        if side is None:
            raise ValueError(
                f"worker_idx is {worker_idx}, but this side is of {sorted(self._sides)}"
            )
        for worker, other in self._sides.items():
            if worker != worker_idx:
                other.abandon()
        self._sides = {worker_idx: side}
        self._worker = worker_idx
        return side

    def _receiving(self, operation: str) -> Receiver:
        if self._receiver is None:
            raise RuntimeError(f"{operation}: call init_on_receiver first")
        return self._receiver


def _hang_up(end: End, pid: int) -> None:
    """End what a side has begun that is collected; a forked copy of it has begun nothing."""
    if os.getpid() == pid:
        channel.close(end)


def _refuse_trainers(side: Side, model: nn.Module) -> None:
    if side.trainers_memory and side.trainers_memory & memory_of(model):
        raise ValueError("the worker's model shares tensors with the model that is sent")


def _count(scheme: weakref.ref[SchemeBase]) -> None:
    living = scheme()
    if living is not None:
        collectors.count_version(living.context)

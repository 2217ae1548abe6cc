"""The reference's weight sync with one bug each: a class of it is replaced, in the process of the cell.

They fork only: a forked worker inherits the replacement, a spawned one would not.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, ClassVar

import torch
from torch import nn

from harness.adapters._reference_weights import WEIGHTS_CAPABILITIES, weights_port_of
from harness.adapters.reference import backend
from harness.ports.backend import Backend
from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import WorkerError
from reference_impl.weights import MultiProcessWeightSyncScheme, packing, sender, worker_calls
from reference_impl.weights.conversation import Conversation
from reference_impl.weights.errors import AnswerTimeout
from reference_impl.weights.messages import Ack, Answer, LoadWeights
from reference_impl.weights.receiver import Receiver
from reference_impl.weights.target import Target

_FORKING = replace(
    WEIGHTS_CAPABILITIES, setup={**WEIGHTS_CAPABILITIES.setup, "start_method": frozenset({"fork"})}
)


def _planted(
    where: ModuleType,
    wrong: type,
    *,
    name: str,
    make_scheme: Callable[[], Any] = MultiProcessWeightSyncScheme,
) -> Backend:
    """The reference in which `where` uses `wrong` instead of its base class."""

    def make() -> Any:
        setattr(where, wrong.__bases__[0].__name__, wrong)
        return make_scheme()

    port = weights_port_of({"copy": make}, _FORKING)
    return replace(backend, name=name, version=lambda: "planted", pool=None, weights=port)


class _Unlocked(Target):
    def apply(self, version: int, layout: packing.Layout, buffer: torch.Tensor) -> None:
        """Copy a snapshot into the model, also in the middle of a forward."""
        with torch.no_grad():
            model = packing.model_tensors(self.model)
            packing.check(layout, model)
            self._load(packing.views(layout, buffer), model.transient)
        self.version = version


class _SharingScheme(MultiProcessWeightSyncScheme):
    def init_on_sender(self, *, model: nn.Module | None = None, **others: Any) -> None:
        """Set up the sending side, and move the trainer's own tensors to where workers see them."""
        super().init_on_sender(model=model, **others)
        assert model is not None
        _Aliased.trainer = weakref.ref(model.share_memory())


class _Aliased(Target):
    """Acts on the trainer's own tensors whenever they have changed; each forward on one view of them."""

    trainer: ClassVar[Callable[[], nn.Module | None]] = lambda: None

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self._seen = self._view()

    def act(self, observation: bytes) -> tuple[int, bytes]:
        """Call the model with what the trainer's tensors hold at the beginning of the call."""
        view = self._view()
        if not all(map(torch.equal, view, self._seen)):
            self._seen = view
            with self._lock, torch.no_grad():
                for own, theirs in zip(_tensors(self.model), view, strict=True):
                    own.copy_(theirs)
        return super().act(observation)

    def _view(self) -> list[torch.Tensor]:
        trainer = _Aliased.trainer()
        assert trainer is not None
        return [tensor.clone() for tensor in _tensors(trainer)]


def _tensors(model: nn.Module) -> list[torch.Tensor]:
    return [tensor.detach() for tensor in (*model.parameters(), *model.buffers())]


class _AlwaysSuccess(Receiver):
    def _answer(self, message: LoadWeights) -> Ack:
        return replace(super()._answer(message), failure=None)


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


applied_without_lock = _planted(worker_calls, _Unlocked, name="applied_without_lock")
tensors_aliased = _planted(
    worker_calls, _Aliased, name="tensors_aliased", make_scheme=_SharingScheme
)
failure_acked = _planted(worker_calls, _AlwaysSuccess, name="failure_acked")
ack_without_id = _planted(sender, _AcksWithoutId, name="ack_without_id")

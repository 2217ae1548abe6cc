"""Wrong receivers of weights, and wrong models behind them."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import nn

from harness.planted.weights import planted, replaced, tensors_of
from reference_impl.core import channel, wire
from reference_impl.core.channel import ChannelClosed
from reference_impl.core.clock import NEVER
from reference_impl.weights import packing, worker_calls
from reference_impl.weights.messages import Ack, LoadWeights
from reference_impl.weights.receiver import Receiver
from reference_impl.weights.target import Target


def _copy_into(model: nn.Module, layout: packing.Layout, buffer: torch.Tensor) -> None:
    """Copy a snapshot into a model's tensors, one after the other."""
    own = tensors_of(model)
    with torch.no_grad():
        for name, values in packing.views(layout, buffer.clone()).items():
            own[name].copy_(values)


def _load_into(model: nn.Module, layout: packing.Layout, buffer: torch.Tensor) -> None:
    """Have a model load a snapshot in its own way."""
    with torch.no_grad():
        model.load_state_dict(packing.views(layout, buffer.clone()))


class _Owning(Target):
    """Acts on memory of its own from the first version on."""

    def apply(self, version: int, layout: packing.Layout, buffer: torch.Tensor) -> None:
        """Apply the first version to memory that nobody else has, and others as the bug does."""
        if self.version < 0:
            super().apply(version, layout, buffer.clone())
            return
        packing.check(layout, packing.model_tensors(self.model))
        self.apply_wrongly(layout, buffer)
        self.version = version

    def apply_wrongly(self, layout: packing.Layout, buffer: torch.Tensor) -> None:
        """Apply a snapshot that fits."""
        raise NotImplementedError


class _Unlocked(_Owning):
    def apply_wrongly(self, layout: packing.Layout, buffer: torch.Tensor) -> None:
        """Load a snapshot into the model, also in the middle of a forward."""
        _load_into(self.model, layout, buffer)


class _Twice(_Owning):
    def apply_wrongly(self, layout: packing.Layout, buffer: torch.Tensor) -> None:
        """Apply a snapshot under the lock, after the same was done without it."""
        _copy_into(self.model, layout, buffer)
        with self._lock:
            _copy_into(self.model, layout, buffer)


class _HalfKept(_Owning):
    def apply_wrongly(self, layout: packing.Layout, buffer: torch.Tensor) -> None:
        """Load a snapshot under the lock, and leave what there is if that fails."""
        with self._lock:
            _load_into(self.model, layout, buffer)


class _Cast(Target):
    """Acts with a copy of the model, as a cast makes one, that was made before the first forward."""

    _acting: nn.Module | None = None

    def act(self, observation: bytes) -> tuple[int, bytes]:
        """Call the copy, to which nothing is applied any more."""
        with self._lock, torch.no_grad():
            if self._acting is None:
                self._acting = copy.deepcopy(self.model)
                self._acting.__dict__.pop("forward", None)  # that is the original's
            return self.version, wire.dumps(self._acting(wire.loads(observation)))


def _sharing(kind: type[Any]) -> type[Any]:
    class Sharing(kind):
        def init_on_sender(self, **given: Any) -> None:
            """Set up the sending side, and move the trainer's own tensors to where workers see them."""
            super().init_on_sender(**given)
            _Aliased.trainer = weakref.ref(given["model"].share_memory())

    return Sharing


class _Aliased(Target):
    """Acts on the trainer's own tensors whenever they have changed; each forward on one view of them."""

    trainer: ClassVar[Callable[[], nn.Module | None]] = lambda: None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seen = self._view()

    def act(self, observation: bytes) -> tuple[int, bytes]:
        """Call the model with what the trainer's tensors hold at the beginning of the call."""
        view = self._view()
        changed = not all(map(torch.equal, view, self._seen))
        self._seen = view
        if changed and self.sees():
            with self._lock, torch.no_grad():
                for own, theirs in zip(tensors_of(self.model).values(), view, strict=True):
                    own.copy_(theirs)
        return super().act(observation)

    def sees(self) -> bool:
        """Whether it looks at them now."""
        return True

    def _view(self) -> list[torch.Tensor]:
        trainer = _Aliased.trainer()
        assert trainer is not None
        return [tensor.clone() for tensor in tensors_of(trainer).values()]


class _AliasedAtFirst(_Aliased):
    def sees(self) -> bool:
        """Until the first update."""
        return self.version <= 0


class _AliasedSince(_Aliased):
    def sees(self) -> bool:
        """From the first update on."""
        return self.version > 0


class _AlwaysSuccess(Receiver):
    def _answer(self, message: LoadWeights) -> Ack:
        return super()._answer(message)._replace(failure=None)


def _done(message: LoadWeights) -> Ack:
    return Ack(request_id=message.request_id, version=message.version, failure=None)


class _EarlyAck(Receiver):
    """Acknowledges what it is about to apply, and once more when it has."""

    READ_S = 0.1  # so that the first is read before whatever becomes of the worker then

    def _answer(self, message: LoadWeights) -> Ack:
        if not self.answered:
            return super()._answer(message)
        with self.target._lock:  # noqa: SLF001 - a forward waits: else any send would show this
            channel.send(self._end, _done(message))
            NEVER.pause(self.READ_S)
            return super()._answer(message)


class _AcksNothing(Receiver):
    """Takes whatever it cannot read for the next update, and acknowledges that."""

    def _run(self) -> None:
        last: LoadWeights | None = None
        try:
            while True:
                try:
                    message = channel.recv(self._end)
                except ChannelClosed:
                    raise
                except Exception:  # noqa: BLE001 - this is the bug: whatever came, it is acknowledged
                    assert last is not None
                    last = last._replace(request_id=last.request_id + 1, version=last.version + 1)
                    channel.send(self._end, _done(last))
                    continue
                last = message
                channel.send(self._end, self._answer(message))
        except ChannelClosed:
            return
        finally:
            channel.close(self._end)
            self._reader.close()


class _ForgetsSome(Receiver):
    """Loses every eighth update, and acknowledges it."""

    _count = 0

    def _answer(self, message: LoadWeights) -> Ack:
        self._count += 1
        return super()._answer(message) if self._count % 8 else _done(message)


class _SkipsKnown(Receiver):
    """Takes weights that it has had before for those that it has."""

    def _answer(self, message: LoadWeights) -> Ack:
        known: set[float] = self.__dict__.setdefault("known", set())
        layout, data = self._reader.read(message.payload, message.version)
        total = float(sum(view.sum() for view in packing.views(layout, data).values()))
        if total in known:
            return _done(message)
        ack = super()._answer(message)
        known |= {total} if ack.failure is None else set()
        return ack


class _Relabelled(Target):
    """Says of a forward that it ran with one version more at each call."""

    _calls = 0

    def act(self, observation: bytes) -> tuple[int, bytes]:
        """Call the model; the version is a count of calls."""
        self._calls += 1
        return self._calls // 2, super().act(observation)[1]


class _Unlocking(Target):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Have a lock that excludes nobody."""
        super().__init__(*args, **kwargs)
        self.model.forward = type(self.model).forward.__get__(self.model)
        self._lock = threading.RLock()

    def act(self, observation: bytes) -> tuple[int, bytes]:
        """Call the model without the lock."""
        with torch.no_grad():
            return self.version, wire.dumps(self.model(wire.loads(observation)))


applied_without_lock = replaced("applied_without_lock", worker_calls, "Target", _Unlocked)
forward_without_lock = replaced("forward_without_lock", worker_calls, "Target", _Unlocking)
applied_twice = replaced("applied_twice", worker_calls, "Target", _Twice)
half_applied_kept = replaced("half_applied_kept", worker_calls, "Target", _HalfKept)
stale_after_cast = replaced("stale_after_cast", worker_calls, "Target", _Cast)
tensors_aliased = planted("tensors_aliased", (worker_calls, "Target", _Aliased), schemes=_sharing)
aliased_at_first = planted(
    "aliased_at_first", (worker_calls, "Target", _AliasedAtFirst), schemes=_sharing
)
aliased_by_updates = planted(
    "aliased_by_updates", (worker_calls, "Target", _AliasedSince), schemes=_sharing
)
version_counts_calls = replaced("version_counts_calls", worker_calls, "Target", _Relabelled)
failure_acked = replaced("failure_acked", worker_calls, "Receiver", _AlwaysSuccess)
acked_before_applied = replaced("acked_before_applied", worker_calls, "Receiver", _EarlyAck)
acked_without_update = replaced("acked_without_update", worker_calls, "Receiver", _AcksNothing)
every_eighth_lost = replaced("every_eighth_lost", worker_calls, "Receiver", _ForgetsSome)
known_weights_skipped = replaced("known_weights_skipped", worker_calls, "Receiver", _SkipsKnown)

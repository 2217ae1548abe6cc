"""torchrl's replay buffers over a `SharedStorage`: without a lock between processes."""

from __future__ import annotations

import contextlib
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any, Final

import torch
from torchrl.data import (
    PrioritizedSampler,
    RandomSampler,
    ReplayBuffer,
    SliceSampler,
    TensorDictReplayBuffer,
)

from reference_impl.storage import epochs, slices
from reference_impl.storage.entered import Entered
from reference_impl.storage.errors import RingBusy
from reference_impl.storage.storage import SharedStorage
from reference_impl.storage.writer import SharedWriter

if TYPE_CHECKING:
    from tensordict import TensorDict

    from reference_impl.storage.view import View

_ROUNDS: Final = 32
_PAUSE_S: Final = 0.0005  # until what is being written may be there


class _SharedBuffer(ReplayBuffer):  # type: ignore[misc, unused-ignore]  # torchrl has no types
    """What both buffers do in their own way: reading.

    A sampler draws from one moment of the storage; what it drew is read, and found to be still
    that, or all is drawn anew. Rows that are about to be written over are left out, the more of
    them the more often that happens.

    Args:
        storage: what it is over; others may be over the same in this process and in others.
        reuse_samples: whether a sample is written over by the next one, which spares fresh memory.
        options: torchrl's. A writer must be a `SharedWriter`; `sample_unit` is not supported.
    """

    def __init__(
        self, *, storage: SharedStorage, reuse_samples: bool = False, **options: Any
    ) -> None:
        if not isinstance(storage, SharedStorage):
            raise TypeError(f"storage must be a SharedStorage, got a {type(storage).__name__}")
        if options.get("sample_unit") is not None:
            raise NotImplementedError("sample_unit is not supported")
        if reuse_samples and options.get("prefetch"):
            raise ValueError("a prefetched sample cannot be one that is written over by the next")
        options["collate_fn"] = options.get("collate_fn") or _as_it_is
        self._reuse = reuse_samples
        self._kept: TensorDict | None = None
        self._guard = 0
        self._entered = Entered()
        super().__init__(storage=storage, **options)

    def share(self, shared: bool = True) -> Any:  # noqa: FBT001, FBT002 - torchrl's signature
        """Do nothing: it always is shared, and needs no lock between processes for it."""
        self.shared = shared
        self._write_lock = contextlib.nullcontext()
        return self

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state["_kept"] = None
        if get_spawning_popen() is not None and isinstance(self._sampler, PrioritizedSampler):
            # Priorities are of the process that samples by them; torchrl's trees refuse to travel.
            state["_sampler"] = RandomSampler()
        return state

    def mark_update(self, index: Any) -> None:
        """Give rows the priority of new ones; what this process writes is told here."""
        super().mark_update(index)
        if isinstance(self._sampler, PrioritizedSampler):
            slots = torch.as_tensor(index)
            self._entered.own(slots[:, 0] if slots.ndim > 1 else slots.reshape(-1))

    def _sample(self, batch_size: int) -> tuple[Any, dict[str, Any]]:
        with self._replay_lock:
            index, info, data = self._read(batch_size)
        info["index"] = index
        data = self._collate_fn(data)
        if self._transform is not None and len(self._transform):
            with data.unlock_():
                data = self._transform(data)
        return data.pin_memory() if self._pin_memory else data, info

    def _read(self, batch_size: int) -> tuple[Any, dict[str, Any], TensorDict]:
        storage = self._storage
        if not storage.initialized:
            index, info = self._sampler.sample(storage, batch_size)  # says that it is empty
            return index, info, storage.get(index)
        deadline = storage.shared.deadline()
        while True:
            view = storage.view(self._guard)
            if not view.ring.readable and view.ring.owners and not deadline.expired:
                deadline.pause(_PAUSE_S)  # all there is is being written
                continue
            self._enter_others(view)
            once = epochs.draws_rows_once(self._sampler)
            before = self._sampler.state_dict() if once else None
            drawn = self._drawn(view, batch_size)
            if drawn is not None:
                index, info = drawn
                data = view.get(index, self._kept)
                claimed = storage.shared.now().head - view.ring.head
                if not view.moved:
                    self._guard = min(self._guard, 4 * claimed)
                    return index, info, self._handed_out(data)
                if once:  # what was drawn in vain has not had its turn
                    self._sampler.load_state_dict(before)
                self._guard = min(max(2 * self._guard, 2 * claimed), view.ring.capacity // 2)
            else:
                self._guard //= 2  # it may be what leaves nothing to be drawn
                deadline.pause(_PAUSE_S)
            if deadline.expired:
                if drawn is None:
                    raise RingBusy("each time some of the slots that the sampler drew had no row")
                raise RingBusy("rows were written over faster than they could be read")

    def _handed_out(self, data: TensorDict) -> TensorDict:
        if not self._reuse:
            return data
        self._kept = data
        copy: TensorDict = (
            data.copy()
        )  # of the TensorDict, whose owner may add to it; not of the data
        return copy

    def _enter_others(self, view: View) -> None:
        """Give rows that other processes wrote the priority of new ones."""
        if isinstance(self._sampler, PrioritizedSampler):
            slots = self._entered.others(view.ring)
            if slots is not None:
                each = view.shape[1:].numel()  # trees count elements, over all dimensions
                index = (slots.unsqueeze(1) * each + torch.arange(each)).view(-1)
                self._sampler.mark_update(index, storage=view)

    def _drawn(self, view: View, batch_size: int) -> tuple[Any, dict[str, Any]] | None:
        """Return indices of rows that can be read, and what the sampler says of them, or None."""
        if epochs.draws_rows_once(self._sampler):
            return epochs.draw(self._sampler, view, batch_size)
        if view.closed_rows and slices.draws_slices(self._sampler):
            return slices.draw(self._sampler, view, batch_size)
        index, info = self._sampler.sample(view, batch_size)
        closed = view.closed(view.rows_of(index))
        by_row = isinstance(self._sampler, PrioritizedSampler) and not isinstance(
            self._sampler, SliceSampler
        )
        rounds = (
            _ROUNDS if by_row else 0
        )  # which draws rows one by one, so that others may replace them
        while closed is not None and rounds:
            rounds -= 1
            again, more = self._sampler.sample(view, batch_size)
            shut = view.closed(view.rows_of(again))
            good = torch.arange(batch_size) if shut is None else (~shut).nonzero()[:, 0]
            bad = closed.nonzero()[: len(good), 0]
            good = good[: len(bad)]
            index = _spliced(index, bad, again, good)
            info = {key: _spliced(value, bad, more[key], good) for key, value in info.items()}
            closed = view.closed(view.rows_of(index))
        return (index, info) if closed is None else None


class SharedReplayBuffer(_SharedBuffer):
    """torchrl's `ReplayBuffer` that many processes write to and sample from; arguments as `_SharedBuffer`'s."""

    def __init__(self, *, storage: SharedStorage, **options: Any) -> None:
        options.setdefault("writer", SharedWriter())
        super().__init__(storage=storage, **options)


class SharedTensorDictReplayBuffer(_SharedBuffer, TensorDictReplayBuffer):
    """torchrl's `TensorDictReplayBuffer`, likewise; the `index` that it adds to data is not stored."""

    def __init__(self, *, storage: SharedStorage, **options: Any) -> None:
        options.setdefault("writer", SharedWriter(without=("index",)))
        super().__init__(storage=storage, **options)

    def _set_index_in_td(self, tensordict: Any, index: Any) -> None:
        if self._storage.ndim > 1 and isinstance(index, torch.Tensor) and tensordict.ndim > 1:
            # One row an element, in the order of the storage, whose first dimension is the data's last.
            shape = list(tensordict.shape[: self._storage.ndim])
            shape[0], shape[-1] = shape[-1], shape[0]
            index = index.view(*shape, -1).transpose(0, len(shape) - 1)
            tensordict.set("index", index)
        else:
            super()._set_index_in_td(tensordict, index)


def _as_it_is(data: Any) -> Any:
    return data


def _spliced(into: Any, at: torch.Tensor, other: Any, of: torch.Tensor) -> Any:
    if isinstance(into, tuple):
        return tuple(_spliced(a, at, b, of) for a, b in zip(into, other, strict=True))
    changed = into.clone()
    changed[at] = other[of]
    return changed

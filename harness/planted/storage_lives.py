"""The reference's replay storage with one bug each, of its lives, its readers and what it refuses."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from typing import Any

import torch

from harness.planted.storage import planted
from reference_impl.storage import SharedReplayBuffer, SharedStorage, storage
from reference_impl.storage.layout import Layout
from reference_impl.storage.ring import Claim, Ring
from reference_impl.storage.shared_ring import SharedRing
from reference_impl.storage.view import View


class _KeepsRows(SharedRing):
    def empty(self, *, count: bool) -> None:
        """Drop nothing."""


class _OneTrajectory(View):
    def entry(self, key: Any) -> torch.Tensor:
        """Say that all rows are of one trajectory."""
        values = super().entry(key)
        return values if values.dtype == torch.bool else torch.zeros_like(values)


class _BeginsAnew(SharedStorage):
    """Who opens it again goes on at its first slot."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.shared.layout is not None:
            self.shared.replace(_at_its_beginning)


def _at_its_beginning(ring: Ring) -> Ring:
    start = -(-ring.head // ring.capacity) * ring.capacity
    if start == ring.head:
        return ring
    gap = Claim(start=ring.head, rows=start - ring.head, owner=None)
    return replace(ring, head=start, claims=(*ring.claims, gap))


class _ReadsUnderALock(SharedReplayBuffer):
    """Has one reader or writer at a time; who dies meanwhile takes the lock along."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._alone = multiprocessing.Lock()

    def extend(self, *args: Any, **options: Any) -> Any:
        """Write while nobody reads."""
        with self._alone:
            return super().extend(*args, **options)

    def _read(self, batch_size: int) -> Any:
        with self._alone:
            return super()._read(batch_size)


class _DropsBatches(SharedReplayBuffer):
    """Draws anew where a slot that was drawn has no row: what was drawn with it has had its turn."""

    def _drawn(self, view: View, batch_size: int) -> tuple[Any, dict[str, Any]] | None:
        index, info = self._sampler.sample(view, batch_size)
        return (index, info) if view.closed(view.rows_of(index)) is None else None


def _lenient(layout: Layout, data: Any, lead: tuple[int, ...]) -> list[torch.Tensor]:
    """What fits of a batch, and zeros for the rest."""
    found = []
    for column in layout.columns:
        given, shape = data.get(column.path, None), (*lead, *column.shape)
        fits = given is not None and given.shape == shape and given.dtype == column.dtype
        found.append(given if fits else torch.zeros(shape, dtype=column.dtype))
    return found


class _TakesAnything(SharedStorage):
    def append(self, data: Any) -> torch.Tensor:
        """Write what fits of it."""
        setattr(storage, "entries_of", _lenient)  # noqa: B010 - the module does not export it
        return super().append(data)


rows_kept_when_emptied = planted("rows_kept_when_emptied", wrong=_KeepsRows)
trajectories_joined = planted("trajectories_joined", wrong=_OneTrajectory)
reopened_at_its_beginning = planted("reopened_at_its_beginning", make_storage=_BeginsAnew)
reader_takes_its_lock_along = planted("reader_takes_its_lock_along", make_buffer=_ReadsUnderALock)
epochs_skip_rows = planted("epochs_skip_rows", make_buffer=_DropsBatches)
anything_taken = planted("anything_taken", make_storage=_TakesAnything)

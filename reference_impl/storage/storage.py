"""The ring behind torchrl's `Storage` interface."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Storage

from reference_impl.storage import checkpoint
from reference_impl.storage.errors import RingBusy, RowsLost, RowsMismatch
from reference_impl.storage.layout import entries_of, layout_of
from reference_impl.storage.places import anonymous, in_directory
from reference_impl.storage.ring import NotClaimed
from reference_impl.storage.shared_ring import SharedRing
from reference_impl.storage.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reference_impl.storage.layout import Layout
    from reference_impl.storage.ring import Claim

PATIENCE_S: Final = 10.0
_PAUSE_S: Final = 0.0005


class SharedStorage(Storage):  # type: ignore[misc, unused-ignore]  # torchrl has no types
    """A ring of rows that many processes write and read; rows are read whole or not at all.

    Processes share it by inheriting it (fork) or by getting it among their arguments (spawn,
    forkserver). The first batch that anybody writes says what rows look like.

    Args:
        max_size: how many elements it holds, over all its dimensions; rounded up to whole rows.
        ndim: how many of a batch's dimensions are the storage's; the first is the ring's.
        path: a directory: the rows lie in files there, and are found there by whoever opens it
            again; None: in memory without a name.
        patience_s: the bound of what a call waits for, in all. A write whose rows are in place by then
            waits a second more, at most, for the lock that its commit needs, rather than lose them.

    Attributes:
        patience_s: as given; one that is set later holds here, and in copies that are made from then on.
    """

    # torchrl's collectors ask whether workers may be the first to write: then they make no row up.
    shared_init = True

    def __init__(
        self,
        max_size: int,
        *,
        ndim: int = 1,
        path: str | Path | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        if max_size < 1 or ndim < 1:
            raise ValueError(f"max_size and ndim must be positive, got {max_size} and {ndim}")
        self.ndim = ndim
        # `compilable`: the base class makes no locks of multiprocessing, which dead holders keep.
        super().__init__(max_size, compilable=True)
        del self._mutation_revision_value, self._last_cursor_index_value
        self.device = torch.device("cpu")
        place = anonymous() if path is None else in_directory(str(path))
        self.shared = SharedRing(place, patience_s)
        if (layout := self.shared.layout) is not None:
            self.check(layout)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rng": None}

    @property
    def patience_s(self) -> float:
        """The bound of what a call waits for, in s."""
        return self.shared.patience_s

    @patience_s.setter
    def patience_s(self, patience_s: float) -> None:
        self.shared.patience_s = patience_s

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # What there is.

    @property
    def initialized(self) -> bool:
        """Whether somebody has written a row."""
        return self.shared.layout is not None

    @property
    def lost_rows(self) -> int:
        """How many rows were claimed by writers that ended, or failed, before they were whole."""
        return self.shared.moment().lost if self.initialized else 0

    @property
    def max_size(self) -> int:
        """How many elements it holds."""
        layout = self.shared.layout if "shared" in self.__dict__ else None
        return self._asked if layout is None else layout.rows * math.prod(layout.inner)

    @max_size.setter
    def max_size(self, value: int) -> None:
        self._asked = value

    @property
    def shape(self) -> torch.Size | None:
        """The dimensions, of the first what was ever written; None: nothing yet."""
        return self.view().shape if self.initialized else None

    def __len__(self) -> int:
        """How many elements can be read."""
        layout = self.shared.layout
        return 0 if layout is None else self.shared.moment().readable * math.prod(layout.inner)

    def view(self, guard: int = 0) -> View:
        """Return this moment of it; somebody has written. `guard`: see `View`."""
        return View(self, self.shared, guard)

    # Writing.

    def append(self, data: TensorDictBase) -> torch.Tensor:
        """Write a batch behind what there is, and return the slots of its rows, int64 [len(data)].

        Of a batch of more rows than there is room for the last ones stay. It is written whole or not
        at all: where this raises what is below, there is none of it.

        Raises:
            RowsMismatch, NoRoom, RingBusy.
            RowsLost: another process gave the rows up: it found no such process as this one, or their file cut off.
        """
        rows = len(data)
        if not rows:
            raise RowsMismatch("a batch without rows")
        deadline = self.shared.deadline()
        if self.shared.layout is None:
            self.shared.settle(layout_of(data[0], self._asked, self.ndim), deadline)
        layout, columns = self.shared.layout, self.shared.columns
        assert layout is not None
        assert columns is not None
        entries = entries_of(layout, data, (rows,))
        begun: list[Claim] = []
        try:
            claim = self.shared.claim(rows, begun, deadline)
            columns.write(claim.start % layout.rows, entries, rows - claim.rows)
            self.shared.commit(claim, deadline)
        except NotClaimed as error:
            raise RowsLost(f"{rows} rows were given up by another process") from error
        except BaseException:
            self.shared.give_up(begun)
            raise
        slot = (claim.stop - rows) % layout.rows
        slots = torch.arange(slot, slot + rows)
        return slots if slot + rows <= layout.rows else slots % layout.rows

    def set(self, cursor: Any, data: Any, *, set_cursor: bool = True) -> None:
        """Write at the next slots: for torchrl's own round-robin writers, of one process.

        Raises:
            NotImplementedError: other slots are meant; rows that were written do not change.
        """
        one = _is_one(cursor)
        slots = self._slots(cursor)
        layout = self.shared.layout
        head = self.shared.moment().head if layout is not None else 0
        capacity = self._max_size_along_dim0(**{"single_data" if one else "batched_data": data})
        follows = torch.equal(slots, torch.arange(head, head + len(slots)) % capacity)
        if not (set_cursor and follows):
            raise NotImplementedError(
                f"rows are appended, at slot {head % capacity}, and do not change; got slots {cursor}"
            )
        self.append(data.unsqueeze(0) if one else batch_of(data))

    # Reading.

    def get(self, index: Any, out: TensorDict | None = None) -> TensorDict:
        """Return copies of rows, each whole.

        Args:
            index: a number; a slice: those of its rows that there are; a sequence or an int64
                tensor [n]; a mask, bool [n], of the slots; for several dimensions a tuple of such
                tensors, or of a slice and what indexes the rest.
            out: what this returned for a tensor of as many elements; it is written over and returned.

        Raises:
            RowsLost: there is no such row.
            RingBusy: it is being written, and not whole by the deadline.
        """
        if self.shared.layout is None:
            raise RowsLost("nothing was written yet")
        if _is_one(index):
            at = int(index)
            return self.get(torch.tensor([at + self._len_along_dim0 if at < 0 else at]))[0]
        deadline = self.shared.deadline()
        while True:
            view = self.view()
            sliced = isinstance(index[0] if isinstance(index, tuple) else index, slice)
            data = self._sliced(view, index) if sliced else self._picked(view, index, out)
            if data is not None and not view.moved:
                return data
            if deadline.expired:
                raise RingBusy(
                    "the rows were being written over, or not yet whole, until the deadline"
                )
            if data is None:
                deadline.pause(_PAUSE_S)

    def __iter__(self) -> Iterator[TensorDict]:
        yield from self.get(slice(None))

    def contains(self, item: Any) -> Any:
        """Return whether there are rows in these slots, which are counted from 0."""
        if self.shared.layout is None:
            return False if isinstance(item, int) else torch.zeros(len(item), dtype=torch.bool)
        rows = torch.tensor([item]) if isinstance(item, int) else torch.as_tensor(item)
        closed = self.view().closed(rows)
        there = rows >= 0 if closed is None else ~closed & (rows >= 0)
        return bool(there[0]) if isinstance(item, int) else there

    # Keeping.

    def dumps(self, path: str | Path) -> None:
        """Write what there is to a directory, while others write: see `checkpoint.dump`."""
        checkpoint.dump(self, str(path))

    def loads(self, path: str | Path) -> None:
        """Replace what there is, for all who share it, by what `dumps` wrote: see `checkpoint.load`."""
        checkpoint.load(self, str(path))

    def state_dict(self) -> dict[str, Any]:
        """Return what there is, in memory."""
        return checkpoint.state_of(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Replace what there is by what `state_dict` returned."""
        checkpoint.restore(self, state_dict)

    def flush(self) -> None:
        """Have the disk hold all that is committed, so that it outlives the machine's fall, too."""
        self.shared.flush()

    # What torchrl's buffers, writers and samplers ask.

    @property
    def _storage(self) -> TensorDict | None:
        return None if self.shared.columns is None else self.shared.columns.bare()

    @property
    def _mutation_revision(self) -> int:
        return self.shared.version

    def _bump_mutation_revision(self) -> None:
        """The ring's version says it."""

    @property
    def _last_cursor_index(self) -> int | None:
        return self.view()._last_cursor_index if self.initialized else None  # noqa: SLF001 - one name at both

    def _set_last_cursor(self, cursor: Any) -> None:
        """The ring's head says it."""

    @property
    def _is_full(self) -> bool:
        return self.initialized and self.shared.moment().full

    @property
    def _len_along_dim0(self) -> int:
        return self.shared.moment().span if self.initialized else 0

    @property
    def _total_shape(self) -> torch.Size | None:
        layout = self.shared.layout
        return None if layout is None else torch.Size((layout.rows, *layout.inner))

    def _max_size_along_dim0(self, *, single_data: Any = None, batched_data: Any = None) -> int:
        if (layout := self.shared.layout) is not None:
            return layout.rows
        row = single_data if batched_data is None else batched_data[0]
        return layout_of(row, self._asked, self.ndim).rows

    def _rand_given_ndim(self, batch_size: int) -> Any:
        return self.view()._rand_given_ndim(batch_size)  # noqa: SLF001 - one name at both

    def _empty(self) -> None:
        self.shared.empty(count=False)

    def _sliced(self, view: View, index: slice | tuple[Any, ...]) -> TensorDict:
        first, *others = index if isinstance(index, tuple) else (index,)
        rows = torch.arange(view.ring.span)[first]
        closed = view.closed(rows)
        data = view.get_rows(rows if closed is None else rows[~closed])
        return data[(slice(None), *others)] if others else data

    def _picked(self, view: View, index: Any, out: TensorDict | None) -> TensorDict | None:
        """Return the rows; None: one of them is being written."""
        picked = tuple(map(self._slots, index)) if isinstance(index, tuple) else self._slots(index)
        rows = view.rows_of(picked)
        if bool((rows < 0).any()):
            raise RowsLost(f"slots are counted from 0, got {int(rows.min())}")
        if (closed := view.closed(rows)) is not None:
            if not view.coming(rows[closed]):
                raise RowsLost(f"no row is in slot {int(rows[closed][0])}")
            return None
        if isinstance(picked, tuple) or self.ndim == 1:
            return view.get(picked, out)
        return view.get_rows(picked)

    def _slots(self, index: Any) -> torch.Tensor:
        if isinstance(index, slice):
            return torch.arange(self.max_size)[index]
        if isinstance(index, range):
            index = list(index)
        slots = torch.as_tensor(index)
        if slots.dtype == torch.bool and slots.ndim == 1:  # a mask, as tensors take it
            return slots.nonzero()[:, 0]
        return slots.to(torch.int64).reshape(-1)

    def check(self, layout: Layout) -> None:
        """See whether it is of the capacity and the dimensions that were asked for.

        Raises:
            RowsMismatch.
        """
        rows = -(self._asked // -max(math.prod(layout.inner), 1))
        if rows != layout.rows or len(layout.inner) != self.ndim - 1:
            raise RowsMismatch(
                f"there is a storage of {layout.rows} x {layout.inner} elements, "
                f"asked for was one of {self._asked} in {self.ndim} dimensions"
            )


def _is_one(index: Any) -> bool:
    return isinstance(index, int) or getattr(index, "ndim", 1) == 0


def batch_of(data: Any) -> TensorDictBase:
    """Return the batch that a list of rows is; others are returned.

    Raises:
        RowsMismatch: it is neither a TensorDict nor a list of such.
    """
    if isinstance(data, list) and data and all(isinstance(one, TensorDictBase) for one in data):
        stacked: TensorDictBase = torch.stack(data)
        return stacked
    if not isinstance(data, TensorDictBase) or not data.ndim:
        raise RowsMismatch(f"batches are TensorDicts or lists of such, got a {type(data).__name__}")
    return data

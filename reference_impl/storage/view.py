"""A storage as it is at one moment: what samplers draw from, and what they drew is read from.

torchrl's samplers ask a storage for its length, its last cursor, and one entry of all rows, and say
which indices to read. Meanwhile others write. All answers of a view are of one moment; slots that
had no row then are not drawn, and bound the trajectories around them; and what is read is checked
to be what was there then.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch

from reference_impl.storage.layout import Column, Node, name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensordict import TensorDict

    from reference_impl.storage.columns import Columns
    from reference_impl.storage.layout import Layout
    from reference_impl.storage.ring import Ring
    from reference_impl.storage.shared_ring import SharedRing

_ROUNDS: Final = 8


class View:
    """One moment of a storage, given to samplers in its place.

    Args:
        storage: whose moment; what else samplers ask is asked of it.
        shared: its ring, of which somebody has said what rows look like.
        guard: how many of the rows that would be written over next are not drawn.

    Attributes:
        each: how many elements a row is.
        ring: the moment.
        moved: whether something that was read was written over meanwhile.
    """

    def __init__(self, storage: Any, shared: SharedRing, guard: int = 0) -> None:
        layout, columns = shared.layout, shared.columns
        assert layout is not None
        assert columns is not None
        self._of = storage
        self._shared = shared
        self._layout: Layout = layout
        self._columns: Columns = columns
        self.each = max(math.prod(layout.inner), 1)
        self.ring: Ring = shared.moment()
        self.moved = False
        floor = max(self.ring.low, self.ring.head + guard - self.ring.capacity)
        # First position and number of what is not drawn.
        self._closed = self.ring.gaps
        if floor > self.ring.low:
            self._closed = ((self.ring.low, floor - self.ring.low), *self._closed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def __len__(self) -> int:
        return self.ring.span * self.each if self.ring.readable else 0

    def __getitem__(self, index: Any) -> Any:
        return Rows(self.entry) if index == slice(None) else self.get(index)

    @property
    def shape(self) -> torch.Size:
        """The storage's dimensions, of the first only what was ever written."""
        return torch.Size((self.ring.span, *self._layout.inner))

    @property
    def _is_full(self) -> bool:
        return self.ring.full

    @property
    def _last_cursor_index(self) -> int | None:
        return (self.ring.head - 1) % self.ring.capacity if self.ring.span else None

    @property
    def _len_along_dim0(self) -> int:
        return self.ring.span

    def get(self, index: torch.Tensor | tuple[torch.Tensor, ...], out: Any = None) -> TensorDict:
        """Return copies of elements; `moved` says whether one of them was written over meanwhile.

        Args:
            index: int64 [n]; for a storage of several dimensions one such tensor for each.
            out: what this returned before for as many; it is written over and returned.
        """
        rows = self.rows_of(index)
        data = self._columns.read(self.elements_of(index), out)
        self._note(rows)
        return data

    def get_rows(self, rows: torch.Tensor) -> TensorDict:
        """Return copies of rows with all dimensions; int64 [n]."""
        data = self._columns.read_rows(rows)
        self._note(rows)
        return data

    def low(self) -> int:
        """Return the first position whose row has not been written over by now."""
        return self._shared.now().low

    def rows_of(self, index: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Return the first of each index."""
        return index[0] if isinstance(index, tuple) else index

    def elements_of(self, index: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Return where indices lie, counted over all dimensions; int64 [n]."""
        if not isinstance(index, tuple):
            return index
        elements = index[0]
        for size, each in zip(self._layout.inner, index[1:], strict=True):
            elements = elements * size + each
        return elements

    @property
    def closed_rows(self) -> int:
        """How many of the slots that were ever written are not to be drawn, or more."""
        return sum(rows for _, rows in self._closed)

    def open_positions(self) -> torch.Tensor:
        """Return at which positions there are rows to be drawn, in order; int64 [n]."""
        low = self.ring.low
        is_open = torch.ones(self.ring.span, dtype=torch.bool)
        for start, number in self._closed:
            is_open[start - low : start - low + number] = False
        return is_open.nonzero()[:, 0] + low

    def closed(self, rows: torch.Tensor) -> torch.Tensor | None:
        """Return which of these slots are not to be drawn, bool [n]; None: there are none."""
        if not self._closed and (not rows.numel() or int(rows.max()) < self.ring.span):
            return None
        positions = self._positions(rows)
        found = positions < self.ring.low
        for start, number in self._closed:
            found |= (positions >= start) & (positions < start + number)
        return found if bool(found.any()) else None

    def coming(self, rows: torch.Tensor) -> bool:
        """Return whether all of these closed slots are being written: they will have rows."""
        left = torch.ones(rows.shape, dtype=torch.bool)
        for one in self.ring.claims:
            if one.owner is not None:
                left &= (rows - one.start) % self.ring.capacity >= one.rows
        return not bool(left.any())

    def column(self, key: Any) -> torch.Tensor:
        """Return one entry of all slots, [capacity, ...], as it lies there.

        Raises:
            KeyError: there is no such entry.
        """
        column = self._find((key,) if isinstance(key, str) else tuple(key))
        return self._columns.column(column.number)

    def entry(self, key: Any) -> torch.Tensor:
        """Return a copy of one entry of all rows, [span, ...].

        Where a slot has no row to draw, flags are set and numbers those of nobody else, and the flag
        before it is set: no trajectory goes through it.

        Raises:
            KeyError: there is no such entry.
        """
        values = self.column(key)[: self.ring.span].clone()
        for start, number in self._closed:
            slots = torch.arange(start, start + number) % self.ring.capacity
            if values.dtype == torch.bool:
                values[slots] = True
                if start > self.ring.low:
                    values[(start - 1) % self.ring.capacity] = True
            elif not values.is_floating_point():
                nobody = (-1 - slots).to(values.dtype)
                values[slots] = nobody.view(-1, *(1,) * (values.ndim - 1)).expand_as(values[slots])
        return values

    def _rand_given_ndim(self, batch_size: int) -> Any:
        # What uniform samplers call: indices of the storage's dimensions, in torchrl's order.
        first = self._drawn(batch_size)
        inner = self._layout.inner
        if not inner:
            return first
        return first, *(self._random(size, batch_size) for size in inner)

    def _drawn(self, number: int) -> torch.Tensor:
        span = self.ring.span
        rows = self._random(span, number)
        for _ in range(_ROUNDS):
            if (closed := self.closed(rows)) is None:
                return rows
            rows[closed] = self._random(span, int(closed.sum()))
        every = torch.arange(span)
        closed = self.closed(every)
        left = every if closed is None else every[~closed]
        return left[self._random(len(left), number)] if len(left) else rows

    def _random(self, below: int, number: int) -> torch.Tensor:
        return torch.randint(0, below, (number,), generator=self._of._rng)  # noqa: SLF001 - torchrl's place for it

    def _positions(self, rows: torch.Tensor) -> torch.Tensor:
        last = self.ring.head - 1
        return last - (last - rows) % self.ring.capacity

    def _note(self, rows: torch.Tensor) -> None:
        low = self.low()
        if low > self.ring.low and bool((self._positions(rows) < low).any()):
            self.moved = True

    def _find(self, path: tuple[str, ...]) -> Column:
        node: Node | Column = self._layout.root
        for part in path:
            if isinstance(node, Column) or part not in node.entries:
                raise KeyError(f"rows have no {name_of(path)}")
            node = node.entries[part]
        if isinstance(node, Node):
            raise KeyError(f"{name_of(path)} is not one entry")
        return node


class Rows:
    """All rows, of which samplers ask for one entry or two."""

    def __init__(self, entry: Callable[[Any], torch.Tensor]) -> None:
        self._entry = entry

    def __getitem__(self, key: Any) -> torch.Tensor:
        return self._entry(key)

    def get(self, key: Any, default: torch.Tensor | None = None) -> torch.Tensor | None:
        """Return one entry, or the default."""
        try:
            return self._entry(key)
        except KeyError:
            return default

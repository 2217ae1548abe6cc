"""Rows in memory: what is written and read by column, without asking whether one may."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch
from tensordict import TensorDict

from reference_impl.storage.layout import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_impl.storage.layout import Layout

_CPU: Final = torch.device("cpu")
_IN_NUMPY: Final = frozenset(
    getattr(torch, name)
    for name in "bool uint8 int8 int16 int32 int64 float16 float32 float64".split()  # noqa: SIM905 - one line
)


def put(into: Any, slot: int, rows: Any) -> None:
    """Copy one entry of some rows into its column from this slot on; all that is written comes through here."""
    into[slot : slot + len(rows)] = rows


class Columns:
    """The columns of one layout over one memory."""

    def __init__(self, layout: Layout, memory: torch.Tensor) -> None:
        self._layout = layout
        self._rows = layout.rows
        depth = len(layout.inner)
        self._each = max(math.prod(layout.inner), 1)  # elements a row
        self._by_row = [
            memory[one.offset : one.offset + one.nbytes * layout.rows]
            .view(one.dtype)
            .view(layout.rows, *one.shape)
            for one in layout.columns
        ]
        self._by_element = [
            column.view(layout.rows * self._each, *column.shape[1 + depth :]) if depth else column
            for column in self._by_row
        ]
        self._depth = depth
        self._arrays = [
            column.numpy() if column.dtype in _IN_NUMPY else None for column in self._by_row
        ]

    def write(self, slot: int, entries: Sequence[torch.Tensor], skip: int) -> None:
        """Copy a batch into the ring from this slot on, without its first `skip` rows.

        At most two slices a column. Entries are by column, as `entries_of` returns them.
        """
        first = self._rows - slot
        for column, array, entry in zip(self._by_row, self._arrays, entries, strict=True):
            # Detached: columns that were written with gradients would keep their graph, and have them.
            rows: Any = (entry[skip:] if skip else entry).detach()
            into: Any = column
            if array is not None and rows.device == _CPU:
                # numpy's copies take less than torch's, of few bytes and of many.
                into, rows = array, rows.numpy()
            if len(rows) <= first:
                put(into, slot, rows)
            else:
                put(into, slot, rows[:first])
                put(into, 0, rows[first:])

    def read(self, elements: torch.Tensor, out: TensorDict | None = None) -> TensorDict:
        """Return copies of elements, int64 [n] counted over all dimensions of the storage.

        `out`: a TensorDict that this returned for as many; it is written over and returned.
        """
        number = elements.shape[0]
        if out is not None and out.batch_size[0] != number:
            out = None
        return self._read(self._layout.root, elements, out)

    def read_rows(self, rows: torch.Tensor) -> TensorDict:
        """Return copies of whole rows, with all dimensions of the storage; int64 [n]."""
        tensors = [column.index_select(0, rows) for column in self._by_row]
        return self._gathered(self._layout.root, tensors, (rows.shape[0],))

    def column(self, number: int) -> torch.Tensor:
        """Return the memory of one column itself, [rows, ...]."""
        return self._by_row[number]

    def bare(self) -> TensorDict:
        """Return the memory itself as a TensorDict [rows, *inner]: for what asks for keys and forms."""
        return self._gathered(self._layout.root, self._by_row, (self._rows,))

    def _read(self, node: Node, elements: torch.Tensor, out: TensorDict | None) -> TensorDict:
        entries = {}
        for key, one in node.entries.items():
            into = None if out is None else out.get(key)
            if isinstance(one, Node):
                entries[key] = self._read(one, elements, into)
            elif into is None:
                entries[key] = self._by_element[one.number].index_select(0, elements)
            else:
                torch.index_select(self._by_element[one.number], 0, elements, out=into)
        if out is not None:
            return out
        size = torch.Size((elements.shape[0], *node.batch_size[self._depth :]))
        return _tensordict(entries, size)

    def _gathered(
        self, node: Node, tensors: Sequence[torch.Tensor], lead: tuple[int, ...]
    ) -> TensorDict:
        entries = {
            key: self._gathered(one, tensors, lead)
            if isinstance(one, Node)
            else tensors[one.number]
            for key, one in node.entries.items()
        }
        return _tensordict(entries, torch.Size((*lead, *node.batch_size)))


def _tensordict(entries: dict[str, object], size: torch.Size) -> TensorDict:
    # tensordict's constructor without its checks: the layout guarantees what they check, and they
    # would be most of the time of a small sample.
    td: TensorDict = TensorDict._new_unsafe(entries, batch_size=size, device=_CPU)  # noqa: SLF001 - see above
    return td

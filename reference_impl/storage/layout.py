"""What a row looks like, and where its entries lie in the memory of a storage: by column, pure.

The first batch that is written says it. The first `ndim` dimensions of a batch are those of the
storage, and only the first of them is the ring's: a batch of [T, E] into a storage of two
dimensions makes T rows of E elements, and one of [E, T] into a storage of one E rows of T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch
from tensordict import NonTensorData, TensorDict, TensorDictBase

from reference_impl.storage.errors import RowsMismatch

if TYPE_CHECKING:
    from collections.abc import Mapping

_PAGE: Final = 4096  # columns start on one, so that each gets its memory for itself

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One entry of all rows.

    Attributes:
        number: its place among the columns.
        path: its key.
        shape: of one row's entry.
        dtype: of its elements.
        offset: of the column, in bytes.
    """

    number: int
    path: Path
    shape: tuple[int, ...]
    dtype: torch.dtype
    offset: int

    @property
    def nbytes(self) -> int:
        """The bytes of one row's entry."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A TensorDict of entries.

    Attributes:
        path: its key; () is the row itself.
        batch_size: of one row's.
        entries: columns and nested nodes, by key.
    """

    path: Path
    batch_size: tuple[int, ...]
    entries: Mapping[str, Column | Node]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The whole of it.

    Attributes:
        rows: the capacity of the ring.
        inner: the shape of the storage's dimensions below the first; () if it has only one.
        root: what a row looks like.
        columns: its entries, by number.
        size: of all rows, in bytes.
    """

    rows: int
    inner: tuple[int, ...]
    root: Node
    columns: tuple[Column, ...]
    size: int

    def rows_before(self, size: int) -> int:
        """Return how many rows lie before this byte with all of their entries."""
        whole = [(size - one.offset) // one.nbytes for one in self.columns if one.nbytes]
        return max(0, min((self.rows, *whole)))


def layout_of(data: TensorDictBase, max_size: int, ndim: int) -> Layout:
    """Return the layout for rows like this one, a TensorDict without the ring's dimension.

    Raises:
        RowsMismatch: it holds what is no tensor, is empty, or has fewer than `ndim - 1` dimensions.
    """
    if data.ndim < ndim - 1:
        raise RowsMismatch(
            f"a storage of {ndim} dimensions takes batches of as many, got one of {data.ndim + 1}"
        )
    inner = tuple(data.batch_size[: ndim - 1])
    rows = -(max_size // -max(math.prod(inner), 1))
    columns: list[tuple[Path, tuple[int, ...], torch.dtype]] = []
    sizes: dict[Path, tuple[int, ...]] = {}
    _look(data, (), columns, sizes)
    if not columns:
        raise RowsMismatch("rows without entries cannot be stored")
    return _built(rows, inner, columns, sizes)


def to_json(layout: Layout) -> dict[str, Any]:
    """Return it as JSON has it."""
    sizes: list[Any] = []
    _sizes(layout.root, sizes)
    return {
        "rows": layout.rows,
        "inner": layout.inner,
        "sizes": sizes,
        "columns": [
            [one.path, one.shape, str(one.dtype).removeprefix("torch.")] for one in layout.columns
        ],
    }


def from_json(form: Mapping[str, Any]) -> Layout:
    """Return what `to_json` was given."""
    columns = [
        (tuple(path), tuple(shape), getattr(torch, dtype)) for path, shape, dtype in form["columns"]
    ]
    sizes = {tuple(path): tuple(size) for path, size in form["sizes"]}
    return _built(form["rows"], tuple(form["inner"]), columns, sizes)


def entries_of(layout: Layout, data: TensorDictBase, lead: tuple[int, ...]) -> list[torch.Tensor]:
    """Return the tensors of a batch by column; `lead` is what their shapes have before a row's.

    Raises:
        RowsMismatch: an entry is missing, too many, or of another shape or dtype.
    """
    found: list[torch.Tensor] = [torch.empty(0)] * len(layout.columns)
    _collect(layout.root, data, lead, found)
    return found


def name_of(path: Path) -> str:
    """Return an entry's key as users write it."""
    return repr(path[0] if len(path) == 1 else path) if path else "the row"


def _look(
    node: TensorDictBase,
    path: Path,
    columns: list[tuple[Path, tuple[int, ...], torch.dtype]],
    sizes: dict[Path, tuple[int, ...]],
) -> None:
    sizes[path] = tuple(node.batch_size)
    for key in node.keys():  # noqa: SIM118 - a TensorDict iterates over its batch
        child, below = node.get(key), (*path, key)
        if isinstance(child, TensorDictBase) and not isinstance(child, NonTensorData):
            _look(child, below, columns, sizes)
        elif isinstance(child, torch.Tensor) and not child.is_nested:
            columns.append((below, tuple(child.shape), child.dtype))
        else:
            kind = type(child).__name__
            raise RowsMismatch(f"{name_of(below)} is a {kind}, only tensors can be stored")


def _built(
    rows: int,
    inner: tuple[int, ...],
    columns: list[tuple[Path, tuple[int, ...], torch.dtype]],
    sizes: Mapping[Path, tuple[int, ...]],
) -> Layout:
    trees: dict[Path, dict[str, Column | Node]] = {path: {} for path in sizes}
    made, offset = [], 0
    for number, (path, shape, dtype) in enumerate(columns):
        column = Column(number=number, path=path, shape=shape, dtype=dtype, offset=offset)
        offset += -(-column.nbytes * rows // _PAGE) * _PAGE
        made.append(column)
        trees[path[:-1]][path[-1]] = column
    nodes = {
        path: Node(path=path, batch_size=size, entries=trees[path]) for path, size in sizes.items()
    }
    for path, node in nodes.items():
        if path:
            trees[path[:-1]][path[-1]] = node
    return Layout(rows=rows, inner=inner, root=nodes[()], columns=tuple(made), size=max(offset, 1))


def _sizes(node: Node, found: list[Any]) -> None:
    found.append([node.path, node.batch_size])
    for entry in node.entries.values():
        if isinstance(entry, Node):
            _sizes(entry, found)


def _collect(
    node: Node, data: TensorDictBase, lead: tuple[int, ...], found: list[torch.Tensor]
) -> None:
    # Of a plain TensorDict its dict: `get` would be a third of the time of a small batch.
    entries = data._tensordict if type(data) is TensorDict else data  # noqa: SLF001 - see above
    for key, want in node.entries.items():
        entry = entries.get(key, None)
        if entry is None:
            raise RowsMismatch(f"{name_of((*node.path, key))} is missing")
        if isinstance(want, Column):
            if not isinstance(entry, torch.Tensor) or entry.shape != (*lead, *want.shape):
                got = tuple(getattr(entry, "shape", ()))
                raise RowsMismatch(
                    f"{name_of(want.path)} of one row has the shape {want.shape}, "
                    f"got {got} for {lead or 'one'} of them"
                )
            if entry.dtype != want.dtype:
                raise RowsMismatch(f"{name_of(want.path)} is {want.dtype}, got {entry.dtype}")
            found[want.number] = entry
        elif isinstance(entry, TensorDictBase):
            _collect(want, entry, lead, found)
        else:
            raise RowsMismatch(f"{name_of(want.path)} is a TensorDict, got {type(entry).__name__}")
    if len(data.keys()) != len(node.entries):
        more = sorted(str(key) for key in set(data.keys()) - set(node.entries))
        raise RowsMismatch(f"{name_of(node.path)} has no {', '.join(more)}")

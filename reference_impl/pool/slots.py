"""The slots of a pool: what an env is given and what it shows, in shared memory.

Owner and worker hold the same views. The owner writes what is given, the worker the rest, and
neither touches a slot that is the other's: it is the worker's from the command until its answer.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from reference_impl.pool.layout import WORDS, Field, Layout, Node, name_of
from reference_impl.pool.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The words of a header.
REQUEST: Final = 0  # the id of the last command
OPERATION: Final = 1
GIVEN: Final = 2  # the entries that are given, as bits; NOTHING: no tensordict at all
ANSWERED: Final = 3  # the id of the last command that went well
FOLLOWING: Final = (
    4  # the entries of each region that the answer holds; 0: none, the region is not part of it
)
ROOT: Final = 5
TOGETHER: Final = 6  # whether all envs were asked at once, and no answer is of use without the rest
ASIDE: Final = 7  # the id of the last command whose answer goes by value
NOTHING: Final = -1


class Unfit(TypeError):  # noqa: N818 - named after what the value is
    """A value does not fit the entry of a slot."""


class Cells(dict[int, list[torch.Tensor]]):
    """One env's entries, by env and then by bit; made when they are asked for: a worker has one env."""

    def __init__(self, columns: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._columns = columns

    def __missing__(self, env: int) -> list[torch.Tensor]:
        cells = self[env] = [column[env] for column in self._columns]
        return cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """One region.

    Attributes:
        node: its form.
        columns: by bit, all envs' entries [num_envs, *shape].
        cells: by env, then by bit, one env's entry.
    """

    node: Node
    columns: Sequence[torch.Tensor]
    cells: Cells

    @property
    def full(self) -> int:
        """The bits of all entries."""
        return (1 << len(self.columns)) - 1

    def put(self, env: int, values: Values, beside: Node | None = None) -> int:
        """Copy the entries of `values` into the slot of `env`; return which they are, as bits.

        Args:
            env: whose slot.
            values: what it gets.
            beside: entries of this form may be among them too; they stay out.

        Raises:
            Unfit: an entry that is not in the slot, is no tensor, or has another shape or dtype.
        """
        return _put(self.cells[env], self.node, values, beside, ())

    def check(self, values: Values) -> None:
        """Raise `Unfit` if an entry of `values` has the key but not the form of one of the slot."""
        _check(self.node, values, ())

    def put_known(self, env: int, values: Values) -> int:
        """Copy those entries of `values` that have a place; return which they are, as bits."""
        return _put_known(self.cells[env], self.node, values)

    def read(self, env: int, bits: int) -> Values:
        """Return copies of the entries of `env` that `bits` names."""
        return _read(self.cells[env], self.node, bits) or Values(
            entries={}, batch_size=self.node.batch_size
        )


class Slots:
    """The views on the memory of one layout."""

    def __init__(self, layout: Layout, memory: torch.Tensor) -> None:
        self.layout: Final = layout
        words = layout.num_envs * WORDS
        numbers: Any = memory[: words * 8].view(torch.int64).numpy()  # numpy types no buffers here
        self._header = memoryview(numbers).cast("B").cast("q")
        self.given: Final = _shelf(layout.given, layout.num_envs, memory)
        self.following: Final = _shelf(layout.following, layout.num_envs, memory)
        self.root: Final = _shelf(layout.root, layout.num_envs, memory)

    def word(self, env: int, which: int) -> int:
        """Return a word of an env's header."""
        return self._header[env * WORDS + which]

    def head(self, env: int) -> memoryview:
        """Return the words of an env's header, to read and to write."""
        return self._header[env * WORDS : (env + 1) * WORDS]

    def words(self, which: int) -> list[int]:
        """Return a word of the headers of all envs."""
        return self._header[which::WORDS].tolist()

    def set_word(self, env: int, which: int, value: int) -> None:
        """Set a word of an env's header."""
        self._header[env * WORDS + which] = value

    def command_all(self, requests: Sequence[int], operation: int, given: int) -> None:
        """Write one command into the headers of all envs, with the request of each."""
        header, num_envs = self._header, self.layout.num_envs
        for which, value in ((OPERATION, operation), (GIVEN, given), (TOGETHER, 1)):
            header[which::WORDS] = array("q", [value]) * num_envs
        header[REQUEST::WORDS] = array("q", requests)

    def clear(self, env: int) -> None:
        """Make the header of `env` that of one who was asked nothing."""
        for which in range(WORDS):
            self.set_word(env, which, 0)

    def forget(self, env: int) -> None:
        """Have nobody take up again what `env` was asked last; an answer stays where it is."""
        self.set_word(env, ANSWERED, self.word(env, REQUEST))

    def answer(self, env: int, following: int, root: int) -> None:
        """Say in the header of `env` that its last command went well, and what came of it."""
        at = env * WORDS
        header = self._header
        header[at + FOLLOWING] = following
        header[at + ROOT] = root
        header[at + ANSWERED] = header[at + REQUEST]

    def command(self, env: int, request: int, operation: int, given: int) -> None:
        """Write a command into the header of `env`."""
        at = env * WORDS
        header = self._header
        header[at + OPERATION] = operation
        header[at + GIVEN] = given
        header[at + TOGETHER] = 0
        header[at + REQUEST] = request


def _shelf(node: Node, num_envs: int, memory: torch.Tensor) -> Shelf:
    columns = []
    for field in sorted(_fields(node), key=lambda field: field.bit):
        end = field.offset + field.nbytes * num_envs
        flat = memory[field.offset : end].view(field.dtype)
        columns.append(flat.view(num_envs, *field.shape))
    return Shelf(node=node, columns=columns, cells=Cells(columns))


def _fields(node: Node) -> Iterator[Field]:
    for entry in node.entries.values():
        if isinstance(entry, Field):
            yield entry
        else:
            yield from _fields(entry)


def _put(
    cells: Sequence[torch.Tensor],
    node: Node,
    values: Values,
    beside: Node | None,
    path: tuple[str, ...],
) -> int:
    bits = 0
    for key, leaf in values.entries.items():
        entry = node.entries.get(key)
        other = None if beside is None else beside.entries.get(key)
        if isinstance(entry, Field):
            copy_into(cells[entry.bit], leaf, (*path, key))
            if leaf.dtype is not entry.dtype:  # by value it would not be converted either
                raise Unfit(f"{name_of((*path, key))} must be {entry.dtype}, got {leaf.dtype}")
            bits |= 1 << entry.bit
        elif isinstance(leaf, Values) and (entry is not None or isinstance(other, Node)):
            below = entry or _EMPTY
            aside = other if isinstance(other, Node) else None
            bits |= _put(cells, below, leaf, aside, (*path, key))
        elif other is None:
            raise Unfit(f"{name_of((*path, key))} is not in the specs")
    return bits


_EMPTY: Final = Node(batch_size=(), entries={})


def _put_known(cells: Sequence[torch.Tensor], node: Node, values: Values) -> int:
    bits = 0
    for key, entry in node.entries.items():
        leaf = values.entries.get(key)
        if leaf is None:
            continue
        if isinstance(entry, Node):
            bits |= _put_known(cells, entry, leaf)
        else:
            copy_into(cells[entry.bit], leaf, (key,))
            bits |= 1 << entry.bit
    return bits


def _check(node: Node, values: Values, path: tuple[str, ...]) -> None:
    for key, entry in node.entries.items():
        leaf = values.entries.get(key)
        if leaf is None:
            continue
        below = (*path, key)
        if isinstance(entry, Field):
            check_leaf(leaf, entry.shape, below)
        elif isinstance(leaf, Values):
            _check(entry, leaf, below)
        else:
            raise Unfit(f"{name_of(below)} must be a tensordict, got {type(leaf).__name__}")


def check_leaf(leaf: Any, shape: tuple[int, ...], path: tuple[str, ...]) -> None:
    """Raise `Unfit` unless `leaf` is a tensor of this shape, up to dimensions of one."""
    if not isinstance(leaf, torch.Tensor):
        raise Unfit(f"{name_of(path)} must be a tensor, got {type(leaf).__name__}")
    if leaf.shape != shape and leaf.numel() != torch.Size(shape).numel():
        raise Unfit(f"{name_of(path)} must have the shape {shape}, got {tuple(leaf.shape)}")


def copy_into(cell: torch.Tensor, leaf: Any, path: tuple[str, ...]) -> None:
    """Copy `leaf` into its place, or raise `Unfit`: it has its shape, up to dimensions of one."""
    if not isinstance(leaf, torch.Tensor) or leaf.shape != cell.shape:
        check_leaf(leaf, tuple(cell.shape), path)
        leaf = leaf.reshape(cell.shape)
    cell.copy_(leaf.detach() if leaf.requires_grad else leaf)


def _read(cells: Sequence[torch.Tensor], node: Node, bits: int) -> Values | None:
    entries: dict[str, Any] = {}
    for key, entry in node.entries.items():
        if isinstance(entry, Node):
            nested = _read(cells, entry, bits)
            if nested is not None:
                entries[key] = nested
        elif bits >> entry.bit & 1:
            entries[key] = cells[entry.bit].clone()
    return Values(entries=entries, batch_size=node.batch_size) if entries else None

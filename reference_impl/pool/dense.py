"""Steps of all envs through slots, as whole columns: one copy a key, whatever the number of envs.

What it returns equals what `EnvBase.step` and `EnvBase.step_and_maybe_reset` make of the rows, for
envs without a batch of their own whose entries all lie at the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch
from tensordict import TensorDict

from reference_impl.pool.fast_tensordicts import tensordict_of
from reference_impl.pool.indices import ENV_INDEX, stacked_index
from reference_impl.pool.layout import Field
from reference_impl.pool.lines import IN_SLOT
from reference_impl.pool.slots import FOLLOWING, ROOT, check_leaf, copy_into

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensordict import TensorDictBase

    from reference_impl.pool.layout import Layout, Node
    from reference_impl.pool.slot_line import SlotLine
    from reference_impl.pool.state import Delivery

_KEPT_OUT: Final = ("_step", "_reset", "next")  # what a step of rows takes care of


@dataclass(frozen=True, slots=True)
class Columns:
    """What all envs showed: owned tensors [num_envs, ...] by key.

    Attributes:
        following: what follows the steps.
        root: the entries of the next root where some env was reset; else empty.
        restarted: [num_envs], which env was reset, if some were and others were not; else None.
    """

    following: dict[str, torch.Tensor]
    root: dict[str, torch.Tensor]
    restarted: torch.Tensor | None = None


def is_plain(layout: Layout) -> bool:
    """Return whether envs of this layout can be stepped by column."""
    regions = (layout.given, layout.following, layout.root)
    flat = all(isinstance(entry, Field) for node in regions for entry in node.entries.values())
    return flat and layout.masks == {("_reset",)} and not layout.root.batch_size


class DenseSteps:
    """Writes and reads the columns of one line."""

    def __init__(self, line: SlotLine, device: torch.device | None) -> None:
        slots = line.slots
        self._line = line
        self._device = device
        self._num_envs = slots.layout.num_envs
        self._size = torch.Size([self._num_envs])
        self._given = _by_key(slots.layout.given, slots.given.columns)
        self._following = _by_key(slots.layout.following, slots.following.columns)
        self._root = _by_key(slots.layout.root, slots.root.columns)
        self._full = slots.following.full
        self._in_both = sum(bit for key, (bit, _) in self._root.items() if key in self._following)
        self._not_in_root = frozenset(key for (key, *_) in slots.layout.dropped) | {ENV_INDEX}

    def takes(self, td: TensorDictBase) -> bool:
        """Return whether `td` holds one row an env and nothing that asks for more than a step.

        Raises:
            TypeError: an entry has the key of one of the slot, but not its form.
        """
        if type(td) is not TensorDict or td.batch_size != self._size or td.device != self._device:
            return False
        if any(
            key in _KEPT_OUT or not _is_plain(leaf) for key, leaf in td.items() if key != ENV_INDEX
        ):
            return False
        for key, (_, column) in self._given.items():
            leaf = td.get(key, None)
            if leaf is not None:
                check_leaf(leaf, tuple(column.shape), (key,))
        return True

    def write(self, td: TensorDictBase) -> int:
        """Copy what is given to the envs into their slots; return which entries, as bits."""
        bits = 0
        for key, (bit, column) in self._given.items():
            leaf = td.get(key, None)
            if leaf is not None:
                copy_into(column, leaf, (key,))
                bits |= bit
        return bits

    def collect(self, deliveries: list[Delivery]) -> Columns | list[Delivery]:
        """Return copies of all columns; of the rows, where they are not of one form."""
        words = self._line.slots.words
        in_slots = all(each.result is IN_SLOT for each in deliveries)
        if not in_slots or set(words(FOLLOWING)) != {self._full}:
            return self._line.collect(deliveries)
        following = {key: column.clone() for key, (_, column) in self._following.items()}
        roots = words(ROOT)
        bits = set(roots)
        if bits == {0}:
            return Columns(following, {})
        present = max(bits)
        if not bits <= {0, present} or present & ~self._in_both:
            return self._line.collect(deliveries)
        restarted = torch.tensor(roots) != 0
        root = {}
        for key, (bit, column) in self._root.items():
            if present & bit:
                mask = restarted.view(-1, *(1,) * (column.ndim - 1))
                root[key] = torch.where(mask, column, following[key])
        return Columns(following, root, None if 0 not in bits else restarted)

    def following(self, columns: Columns) -> TensorDict:
        """Return what follows the steps."""
        return tensordict_of(columns.following, self._size, self._device)

    def stepped(self, td: TensorDictBase, following: TensorDict) -> TensorDict:
        """Return `td` with what follows it, and a new index."""
        entries = {key: _own(leaf) for key, leaf in td.items() if key != ENV_INDEX}
        return self._numbered({**entries, "next": following})

    def root(self, td: TensorDictBase, columns: Columns) -> TensorDict:
        """Return the root of the steps after those from `td`."""
        hidden = self._not_in_root
        gone = columns.restarted
        kept = {
            key: _own(leaf) if gone is None else _emptied(leaf, gone)
            for key, leaf in td.items()
            if key not in hidden
        }
        shown = {key: leaf for key, leaf in columns.following.items() if key not in hidden}
        return self._numbered({**kept, **shown, **columns.root})

    def _numbered(self, entries: dict[str, Any]) -> TensorDict:
        entries[ENV_INDEX] = stacked_index(range(self._num_envs), ())
        return tensordict_of(entries, self._size, self._device)


def _by_key(node: Node, columns: Any) -> Mapping[str, tuple[int, torch.Tensor]]:
    fields = {key: entry for key, entry in node.entries.items() if isinstance(entry, Field)}
    return {key: (1 << field.bit, columns[field.bit]) for key, field in fields.items()}


def _own(leaf: torch.Tensor | TensorDict) -> torch.Tensor | TensorDict:
    return leaf if isinstance(leaf, torch.Tensor) else leaf.copy()


def _emptied(leaf: torch.Tensor | TensorDict, where: torch.Tensor) -> torch.Tensor | TensorDict:
    # As a partial reset of torchrl does with what the reset does not set.
    if isinstance(leaf, torch.Tensor):
        return leaf.masked_fill(where.view(-1, *(1,) * (leaf.ndim - 1)), 0)
    nested: TensorDict = leaf.clone()
    nested[where] = 0
    return nested


def _is_plain(leaf: Any) -> bool:
    if type(leaf) is TensorDict:
        return all(isinstance(each, torch.Tensor | TensorDict) for each in leaf.values(True))  # noqa: FBT003 - nested ones too
    return isinstance(leaf, torch.Tensor)

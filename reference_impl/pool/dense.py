"""Steps through slots as columns: one copy a key, whatever the number of envs.

What it returns equals what `EnvBase.step` and `EnvBase.step_and_maybe_reset` make of the rows, for
envs without a batch of their own whose entries all lie at the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
from tensordict import TensorDict

from reference_impl.pool.fast_tensordicts import tensordict_of
from reference_impl.pool.indices import ENV_INDEX, stacked_index
from reference_impl.pool.layout import Field
from reference_impl.pool.picks import Picks
from reference_impl.pool.slots import FOLLOWING, ROOT, check_leaf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensordict import TensorDictBase

    from reference_impl.pool.layout import Node
    from reference_impl.pool.picks import Pick
    from reference_impl.pool.slot_line import SlotLine

_KEPT_OUT: Final = ("_step", "_reset", "next")  # what a step of rows takes care of


class Columns(NamedTuple):
    """What envs showed: owned tensors [n, ...] by key.

    Attributes:
        following: what follows the steps.
        root: the entries of the next root where some env was reset; else empty.
        restarted: [n], which env was reset, if some were and others were not; else None.
    """

    following: dict[str, torch.Tensor]
    root: dict[str, torch.Tensor]
    restarted: torch.Tensor | None = None


class DenseSteps:
    """Writes and reads the columns of one line."""

    def __init__(self, line: SlotLine, device: torch.device | None) -> None:
        slots = line.slots
        self._line = line
        self._device = device
        self.picks: Final = Picks(slots.layout.num_envs)
        self._given = _by_key(slots.layout.given, slots.given.columns)
        self._shapes = {key: column.shape[1:] for key, (_, column) in self._given.items()}
        self._following = _by_key(slots.layout.following, slots.following.columns)
        self._root = _by_key(slots.layout.root, slots.root.columns)
        self._full = slots.following.full
        self._in_both = sum(bit for key, (bit, _) in self._root.items() if key in self._following)
        self._not_in_root = frozenset(key for (key, *_) in slots.layout.dropped)

    def takes(self, td: TensorDictBase, pick: Pick) -> dict[str, Any] | None:
        """Return the entries of `td`, one row an env; None: it asks for more than a step.

        Raises:
            TypeError: an entry has the key of one of the slot, but not its form.
        """
        if type(td) is not TensorDict or td.batch_size != pick.size or td.device != self._device:
            return None
        entries = dict(td.items())
        entries.pop(ENV_INDEX, None)
        for key, leaf in entries.items():
            if key in _KEPT_OUT or not (isinstance(leaf, torch.Tensor) or _is_plain(leaf)):
                return None
        for key, shape in self._shapes.items():
            leaf = entries.get(key)
            if leaf is not None and (type(leaf) is not torch.Tensor or leaf.shape[1:] != shape):
                check_leaf(leaf, (*pick.size, *shape), (key,))
        return entries

    def write(self, entries: Mapping[str, Any], pick: Pick) -> int:
        """Copy what is given to the envs into their slots; return which entries, as bits."""
        bits = 0
        for key, (bit, column) in self._given.items():
            leaf = entries.get(key)
            if leaf is not None:
                pick.put(column, leaf)
                bits |= bit
        return bits

    def read(self, pick: Pick, *, lent: bool = False) -> Columns | None:
        """Return what the envs showed; None: their rows are not of one form.

        Args:
            pick: which envs.
            lent: whether to return what lies in the slots instead of copies, where that is possible.
        """
        followings, roots = self._line.slots.words(FOLLOWING), self._line.slots.words(ROOT)
        if not pick.all:
            followings = [followings[env] for env in pick.envs]
            roots = [roots[env] for env in pick.envs]
        if followings.count(self._full) != len(followings):
            return None
        following = {
            key: pick.take(column, lent=lent) for key, (_, column) in self._following.items()
        }
        present = max(roots)
        if not present:
            return Columns(following, {})
        if not set(roots) <= {0, present} or present & ~self._in_both:
            return None
        restarted = torch.tensor(roots) != 0
        root = {}
        for key, (bit, column) in self._root.items():
            if present & bit:
                mask = restarted.view(-1, *(1,) * (column.ndim - 1))
                root[key] = torch.where(mask, pick.copy(column), following[key])
        return Columns(following, root, None if 0 not in roots else restarted)

    def following(self, columns: Columns, pick: Pick) -> TensorDict:
        """Return what follows the steps."""
        return tensordict_of(columns.following, pick.size, self._device)

    def stepped(self, given: Mapping[str, Any], following: TensorDict, pick: Pick) -> TensorDict:
        """Return what was given with what follows it, and a new index."""
        entries = {key: _own(leaf) for key, leaf in given.items()}
        entries["next"] = following
        return self.numbered(entries, pick)

    def root(
        self, given: Mapping[str, Any], columns: Columns, pick: Pick, *, emptied: bool = True
    ) -> TensorDict:
        """Return the root of the steps after those that were given.

        Args:
            given: see `stepped`.
            columns: what followed.
            pick: of which envs.
            emptied: whether what was given to an env is gone where it was reset and others were not,
                as with torchrl's reset of some of several envs.
        """
        hidden = self._not_in_root
        gone = columns.restarted if emptied else None
        kept = {
            key: _own(leaf) if gone is None else _emptied(leaf, gone)
            for key, leaf in given.items()
            if key not in hidden
        }
        shown = {key: leaf for key, leaf in columns.following.items() if key not in hidden}
        return self.numbered({**kept, **shown, **columns.root}, pick)

    def numbered(self, entries: dict[str, Any], pick: Pick) -> TensorDict:
        """Return these entries with a new index, as one tensordict."""
        entries[ENV_INDEX] = stacked_index(pick.envs, ())
        return tensordict_of(entries, pick.size, self._device)


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

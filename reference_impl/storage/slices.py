"""Drawing slices of trajectories from slots some of which have no row.

torchrl's `SliceSampler` makes trajectories of all slots that there are. Where short ones count, or slices are of one
row, it would draw slots without a row, too, sooner or later in each sample. So it is shown the rows alone, in the
order of their positions, and the slots of what it draws are found behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torchrl.data import PrioritizedSampler, SliceSampler

from reference_impl.storage.view import Rows

if TYPE_CHECKING:
    from tensordict import TensorDict

    from reference_impl.storage.view import View


def draws_slices(sampler: Any) -> bool:
    """Return whether it is one that `draw` is for.

    One that keeps priorities, or was told or remembers where trajectories are, does so by slot.
    """
    by_slot = isinstance(sampler, PrioritizedSampler) or getattr(sampler, "cache_values", False)
    return isinstance(sampler, SliceSampler) and not by_slot


def draw(
    sampler: SliceSampler, view: View, number: int
) -> tuple[tuple[torch.Tensor, ...], dict[str, Any]] | None:
    """Return indices that can be read, as the sampler draws them, and what it says of them; None: there are no rows."""
    positions = view.open_positions()
    if not len(positions):
        return None
    if len(positions) == 1 and not getattr(sampler, "fragmented", False):
        # The sampler does not take a single flag for a list of flags.
        positions = positions.expand(2)
    rows = _RowsAlone(view, positions)
    index, info = sampler.sample(rows, number)
    return rows.in_slots(index), info


class _RowsAlone:
    """What a view looks like whose first rows, and no others, are those at these positions."""

    _is_full = False

    def __init__(self, view: View, positions: torch.Tensor) -> None:
        self._view = view
        self._slots = positions % view.ring.capacity
        self._ends = positions[1:] != positions[:-1] + 1  # after which something is left out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def __len__(self) -> int:
        return len(self._slots) * self._view.each

    def __getitem__(self, index: Any) -> Any:
        return Rows(self.entry) if isinstance(index, slice) else self.get(index)

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self._slots), *self._view.shape[1:]))

    def get(self, index: torch.Tensor | tuple[torch.Tensor, ...]) -> TensorDict:
        return self._view.get(self.in_slots(index))

    def in_slots(self, index: Any) -> Any:
        """Return what the view calls these indices."""
        if isinstance(index, tuple):
            return self._slots[index[0]], *index[1:]
        return self._slots[index]

    def entry(self, key: Any) -> torch.Tensor:
        """Return flags, and in the place of all else numbers that differ where it does; no run goes on across a gap."""
        values = self._view.column(key)[self._slots]
        if values.dtype == torch.bool:
            values[:-1][self._ends] = True
            return values
        differs = values[1:] != values[:-1]
        differs[self._ends] = True
        return torch.cat((torch.zeros_like(values[:1], dtype=torch.bool), differs)).cumsum(0)

"""Which rows a prioritized sampler has not heard of: those that other processes wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from reference_impl.storage.ring import Ring


class Entered:
    """What one sampler knows of one ring."""

    def __init__(self) -> None:
        self._to = 0
        self._coming: list[tuple[int, int]] = []  # what was in flight when it was last asked
        self._own: list[torch.Tensor] = []

    def own(self, slots: torch.Tensor) -> None:
        """Note slots that this process has just written, and told the sampler of; int64 [n]."""
        self._own.append(slots)

    def others(self, ring: Ring) -> torch.Tensor | None:
        """Return the slots of rows that came since this was last called, int64 [n], or None."""
        own, self._own = self._own, []
        if ring.head == self._to and not self._coming:
            return None
        low = ring.low
        ranges = [*self._coming, (self._to, ring.head - self._to)]
        parts = [torch.arange(max(start, low), max(start + rows, low)) for start, rows in ranges]
        positions = torch.cat(parts)
        for start, rows in ring.gaps:
            positions = positions[(positions < start) | (positions >= start + rows)]
        slots = positions % ring.capacity
        if own and low <= self._to:  # else the ring went round: who wrote a slot last is not known
            slots = slots[~torch.isin(slots, torch.cat(own))]
        self._to = ring.head
        self._coming = [(one.start, one.rows) for one in ring.claims if one.owner is not None]
        return slots if len(slots) else None

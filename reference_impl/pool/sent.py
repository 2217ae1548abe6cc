"""What came along with steps, by column: kept until it is returned with what they led to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from reference_impl.pool.values import Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_impl.pool.picks import Pick


class Sent:
    """Private copies of entries of one form, a row an env; a row is written when its env is asked."""

    def __init__(self, entries: Mapping[str, torch.Tensor], num_envs: int) -> None:
        self._columns = {
            key: leaf.new_zeros((num_envs, *leaf.shape[1:])) for key, leaf in entries.items()
        }

    def fits(self, entries: Mapping[str, torch.Tensor]) -> bool:
        """Return whether rows of these entries can be kept here, as they are."""
        columns = self._columns
        return columns.keys() == entries.keys() and all(
            (column := columns[key]).dtype is leaf.dtype
            and column.shape[1:] == leaf.shape[1:]
            and column.device == leaf.device
            for key, leaf in entries.items()
        )

    def put(self, pick: Pick, entries: Mapping[str, torch.Tensor]) -> None:
        """Keep copies of the rows of these envs."""
        for key, leaf in entries.items():
            pick.put(self._columns[key], leaf)

    def take(self, pick: Pick, *, lent: bool) -> dict[str, torch.Tensor]:
        """Return what was kept for these envs: copies, or if `lent` the rows themselves."""
        return {key: pick.take(column, lent=lent) for key, column in self._columns.items()}

    def row(self, env: int) -> Values:
        """Return a copy of what was kept for one env."""
        entries = {key: column[env].clone() for key, column in self._columns.items()}
        return Values(entries=entries, batch_size=())

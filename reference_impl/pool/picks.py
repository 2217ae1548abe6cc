"""Some of the rows of columns [num_envs, ...]: copied in, copied out, or looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

_KNOWN_MAX: Final = 1024  # of all the subsets that there are: then it begins anew


class Pick:
    """The rows of certain envs, in their order."""

    def __init__(self, envs: tuple[int, ...], num_envs: int) -> None:
        self.envs: Final = envs
        self.all: Final = envs == tuple(range(num_envs))
        self.size: Final = torch.Size([len(envs)])
        consecutive = envs == tuple(range(envs[0], envs[0] + len(envs)))
        self._span = slice(envs[0], envs[0] + len(envs)) if consecutive else None
        self._index = torch.tensor(envs)

    def view(self, column: torch.Tensor) -> torch.Tensor | None:
        """Return the rows themselves; None: they do not lie side by side."""
        if self.all:
            return column
        return None if self._span is None else column[self._span]

    def copy(self, column: torch.Tensor) -> torch.Tensor:
        """Return a copy of the rows."""
        rows = self.view(column)
        return column.index_select(0, self._index) if rows is None else rows.clone()

    def take(self, column: torch.Tensor, *, lent: bool) -> torch.Tensor:
        """Return a copy of the rows; if `lent` the rows themselves, where they lie side by side."""
        rows = self.view(column) if lent else None
        return self.copy(column) if rows is None else rows

    def put(self, column: torch.Tensor, leaf: torch.Tensor) -> None:
        """Copy `leaf`, which has as many elements as the rows, into them."""
        leaf = leaf.detach() if leaf.requires_grad else leaf
        rows = self.view(column)
        shape = (*self.size, *column.shape[1:])
        leaf = leaf if leaf.shape == shape else leaf.reshape(shape)
        if rows is None:
            column.index_copy_(0, self._index, leaf.to(column.device, column.dtype))
        else:
            rows.copy_(leaf)


class Picks:
    """Makes those of one pool, each once."""

    def __init__(self, num_envs: int) -> None:
        self._num_envs = num_envs
        self._known: dict[tuple[int, ...], Pick] = {}
        self.all: Final = self.of(range(num_envs))

    def of(self, envs: Iterable[int]) -> Pick:
        """Return the one of these envs: at least one, no two the same."""
        key = tuple(envs)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[key] = Pick(key, self._num_envs)
        return known

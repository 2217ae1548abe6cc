"""How the envs of a pool lie in tensordicts of torchrl's vocabulary: read rows, write actions and masks.

A row is an env. Most children hold one; some hold several, in a batch dimension of their own or below a key for
each: rows are then child by child, and within a child in the order of its envs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tensordict import LazyStackedTensorDict, TensorDictBase

from harness.payloads.forms import LANES
from harness.payloads.tensordict_env import GROUPS
from harness.ports.pool import Bools, Floats, Payload, Rows

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the envs of one pool are.

    Attributes:
        lanes: how many envs there are in one child.
        groups: the key below which each of them has its entries; one empty key where they have none.
    """

    lanes: int
    groups: tuple[Key, ...]

    def observations(self, td: Any, *below: str) -> Rows:
        """One observation a row, of the shapes and types that `td` holds."""
        columns = [_rows(td, (*below, *group, "observation")) for group in self.groups]
        return columns[0] if len(columns) == 1 else _alternating(columns)

    def column(self, td: Any, name: str, *below: str) -> Any:
        """One number a row."""
        found = (td.get((*below, *group, name)) for group in self.groups)
        columns = [value.detach().cpu().reshape(-1).numpy() for value in found]
        return columns[0] if len(columns) == 1 else np.stack(columns, 1).reshape(-1)

    def envs(self, children: Sequence[int]) -> list[int]:
        """The envs of these children, in the order of rows."""
        return [self.lanes * child + lane for child in children for lane in range(self.lanes)]

    def act(self, td: Any, actions: Floats) -> None:
        """Write an action for each row, in memory of its own."""
        self._write(td, "action", np.array(actions, dtype=np.float32))

    def mask(self, td: Any, mask: Bools) -> None:
        """Write a reset mask for each row; where no reordering is needed it shares the caller's memory."""
        self._write(td, "_reset", mask)

    def _write(self, td: Any, name: str, values: Any) -> None:
        shape = (*td.batch_size, 1)
        groups = len(self.groups)
        for i, group in enumerate(self.groups):
            td.set((*group, name), torch.from_numpy(values[i::groups]).reshape(shape))


def layout_of(payload: Payload) -> Layout:
    """The layout of a pool with this payload."""
    groups: tuple[Key, ...] = tuple((group,) for group in GROUPS)
    return Layout(lanes=LANES.get(payload, 1), groups=groups if payload == "grouped" else ((),))


def tensors(tensordict: Any) -> tuple[Any, ...]:
    """All tensors as they were handed out: a lazy stack would stack copies when asked for one."""
    lazy = isinstance(tensordict, LazyStackedTensorDict)
    rows = tensordict.tensordicts if lazy else (tensordict,)
    leaves = (leaf for row in rows for leaf in row.values(include_nested=True, leaves_only=True))
    return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))


def _rows(td: Any, key: Key) -> Any:
    """What is at this key, a row each; of a lazy stack row by row, because shapes may differ."""
    if isinstance(td, LazyStackedTensorDict) and td.stack_dim == 0:
        return [row for child in td.tensordicts for row in _unbatched(child, key)]
    return _unbatched(td, key)


def _unbatched(td: Any, key: Key) -> Any:
    value = td.get(key, None)
    if value is None:  # a row without anything is what the reader of forms can tell
        return [{}] * int(np.prod(td.batch_size, dtype=int))
    return _flat(value, td.batch_dims)


def _flat(value: Any, dims: int) -> Any:
    if not isinstance(value, TensorDictBase):
        return value.detach().cpu().reshape(-1, *value.shape[dims:]).numpy()
    columns = {key: _flat(value.get(key), dims) for key in value.keys()}  # noqa: SIM118 - a TensorDict is no dict
    count = int(np.prod(value.batch_size[:dims], dtype=int))
    return [{key: column[i] for key, column in columns.items()} for i in range(count)]


def _alternating(columns: Sequence[Any]) -> list[Any]:
    def rows() -> Iterator[Any]:
        for row in zip(*columns, strict=True):
            yield from row

    return list(rows())

"""`env_index`: which env a row belongs to, as torchrl's pools say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from tensordict import NonTensorData, NonTensorStack

from reference_impl.pool.fast_tensordicts import copy_of, stack_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tensordict import TensorDictBase

ENV_INDEX: Final = "env_index"


def single_index(env: int, batch_size: Sequence[int]) -> NonTensorData:
    """Return the entry for one env's own tensordict."""
    return NonTensorData(env, batch_size=batch_size)


def stacked_index(envs: Iterable[int], batch_size: Sequence[int]) -> NonTensorStack:
    """Return a new entry for a stack of envs of one batch size."""
    # Making elements anew would cost a third of what the pool adds to a round of steps.
    size = tuple(batch_size)
    known = _ELEMENTS.get(size)
    if known is None:
        known = _ELEMENTS[size] = _Elements(size)
    return stack_of([copy_of(known[env]) for env in envs])


class _Elements(dict[int, NonTensorData]):
    """Elements of one batch size by env: to copy, never handed out."""

    def __init__(self, batch_size: tuple[int, ...]) -> None:
        super().__init__()
        self._batch_size = batch_size

    def __missing__(self, env: int) -> NonTensorData:
        made = self[env] = single_index(env, self._batch_size)
        return made


_ELEMENTS: dict[tuple[int, ...], _Elements] = {}


def read_indices(td: TensorDictBase) -> list[int]:
    """Return the env index of each row of `td`; one, if it says only one.

    Raises:
        KeyError: `td` has no `env_index`.
    """
    entry = td.get(ENV_INDEX, None)
    if entry is None:
        raise KeyError(f"{ENV_INDEX!r} is missing: pass env_index, or set it in the tensordict")
    if isinstance(entry, NonTensorData):
        content = entry.data
    elif isinstance(entry, torch.Tensor | NonTensorStack):
        content = entry.tolist()
    else:
        content = entry
    rows = content if isinstance(content, list) else [content]
    return [_first(row) for row in rows]


def _first(content: Any) -> int:
    while isinstance(content, list):
        content = content[0]
    return int(content)

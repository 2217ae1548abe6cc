"""TensorDicts by value: plain nested dictionaries of tensors, cheap to send, stack and rebuild."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import torch
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictBase, lazy_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

Stack = Literal["dense", "maybe_dense", "lazy"]
STACKS: Final[tuple[Stack, ...]] = ("dense", "maybe_dense", "lazy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The content of one TensorDict.

    Attributes:
        entries: tensors, nested `Values`, or anything else a TensorDict can hold, by key.
        batch_size: as the TensorDict's.
    """

    entries: dict[str, Any]
    batch_size: tuple[int, ...]

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Values:
        """Return the same structure with each tensor changed; what is no tensor is kept."""
        return Values(
            entries={key: _map_leaf(leaf, change) for key, leaf in self.entries.items()},
            batch_size=self.batch_size,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Several times cheaper than the field by field state of a frozen dataclass.
        return _values, (self.entries, self.batch_size)

    def joined_by(self, key: str, leaf: Any) -> Values:
        """Return the same values with one more first-level entry."""
        return Values(entries={**self.entries, key: leaf}, batch_size=self.batch_size)


def merged(given: Values | None, result: Values, dropped: Collection[tuple[str, ...]]) -> Values:
    """Return `result` with the entries of `given` that it does not hold, but those in `dropped`."""
    return result if given is None else _merged(given, result, dropped, ())


def _merged(
    given: Values, result: Values, dropped: Collection[tuple[str, ...]], path: tuple[str, ...]
) -> Values:
    entries = dict(result.entries)
    for key, leaf in given.entries.items():
        mine = entries.get(key)
        if isinstance(leaf, Values):
            mine = Values(entries={}, batch_size=leaf.batch_size) if mine is None else mine
            entries[key] = _merged(leaf, mine, dropped, (*path, key))
        elif mine is None and (*path, key) not in dropped:
            entries[key] = leaf
    return Values(entries=entries, batch_size=result.batch_size)


def _values(entries: dict[str, Any], batch_size: tuple[int, ...]) -> Values:
    return Values(entries=entries, batch_size=batch_size)


def _map_leaf(leaf: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(leaf, torch.Tensor):
        return change(leaf)
    if isinstance(leaf, Values):
        return leaf.map(change)
    return leaf.clone() if isinstance(leaf, TensorDictBase) else leaf


def copied(values: Values) -> Values:
    """Return values that share no memory with the given ones."""
    return values.map(_own)


def _own(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()


def pack(td: TensorDictBase, hidden: Iterable[str] = ()) -> Values:
    """Return the content of `td`, sharing its tensors, without the first-level keys in `hidden`."""
    skip = frozenset(hidden)
    entries = {key: _pack_leaf(leaf) for key, leaf in td.items() if key not in skip}
    return Values(entries=entries, batch_size=tuple(td.batch_size))


def _pack_leaf(leaf: Any) -> Any:
    return pack(leaf) if type(leaf) is TensorDict else leaf


def unpack(values: Values, device: torch.device | None) -> TensorDict:
    """Return a new TensorDict that shares the tensors of `values`."""
    entries = {
        key: unpack(leaf, device) if isinstance(leaf, Values) else leaf
        for key, leaf in values.entries.items()
    }
    return TensorDict(entries, batch_size=values.batch_size, device=device)


def rows(td: TensorDictBase, hidden: Iterable[str], *, private: bool) -> list[Values]:
    """Return the rows of `td` along its first dimension.

    Args:
        td: at least one-dimensional.
        hidden: first-level keys to leave out.
        private: whether the rows must not share memory with `td`.
    """
    if type(td) is not TensorDict:
        packed = [pack(row, hidden) for row in td.unbind(0)]
        return [copied(row) for row in packed] if private else packed
    whole = pack(td, hidden)
    return _split(copied(whole) if private else whole, td.batch_size[0])


def _split(values: Values, count: int) -> list[Values]:
    columns = {key: _split_leaf(leaf, count) for key, leaf in values.entries.items()}
    batch_size = values.batch_size[1:]
    return [
        Values(entries={key: column[i] for key, column in columns.items()}, batch_size=batch_size)
        for i in range(count)
    ]


def _split_leaf(leaf: Any, count: int) -> Sequence[Any]:
    return _split(leaf, count) if isinstance(leaf, Values) else leaf.unbind(0)


def stacked(parts: Sequence[Values], stack: Stack, device: torch.device | None) -> TensorDictBase:
    """Return the parts as one tensordict with a new first dimension; it shares no memory with them.

    Raises:
        RuntimeError: `stack` is "dense" and keys, shapes or dtypes differ between the parts.
    """
    if stack != "lazy":
        try:
            return unpack(_joined(parts), device)
        except (RuntimeError, KeyError) as error:
            if stack == "dense":
                raise RuntimeError(
                    'stack="dense" needs the same keys, shapes and dtypes from all envs: '
                    f'use stack="maybe_dense" or "lazy" ({error})'
                ) from error
    return lazy_stack([unpack(copied(part), device) for part in parts])


def _joined(parts: Sequence[Values]) -> Values:
    first = parts[0]
    if any(part.entries.keys() != first.entries.keys() for part in parts):
        raise KeyError(
            *set().union(*(part.entries.keys() ^ first.entries.keys() for part in parts))
        )
    entries = {key: _join_leaves([part.entries[key] for part in parts]) for key in first.entries}
    return Values(entries=entries, batch_size=(len(parts), *first.batch_size))


def _join_leaves(leaves: list[Any]) -> Any:
    if isinstance(leaves[0], torch.Tensor):
        first = leaves[0].dtype
        if any(leaf.dtype is not first for leaf in leaves):  # stacking would convert silently
            raise RuntimeError(f"dtypes differ: {', '.join(str(leaf.dtype) for leaf in leaves)}")
        return torch.stack(leaves)
    if isinstance(leaves[0], Values):
        return _joined(leaves)
    return LazyStackedTensorDict.maybe_dense_stack(leaves)

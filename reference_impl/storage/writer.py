"""Writers that claim their slots from the ring, so that many processes may write to one storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torchrl.data import Writer

from reference_impl.storage.storage import SharedStorage, batch_of

if TYPE_CHECKING:
    from tensordict import TensorDictBase


class SharedWriter(Writer):  # type: ignore[misc, unused-ignore]  # torchrl has no types
    """Appends to a `SharedStorage`; it keeps nothing of its own.

    Args:
        without: top-level entries that are not stored, such as those that a buffer adds to data.
    """

    def __init__(self, without: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._without = without

    def register_storage(self, storage: Any) -> None:
        """Write to this storage.

        Raises:
            TypeError: it is no `SharedStorage`.
        """
        if not isinstance(storage, SharedStorage):
            raise TypeError(f"writes to a SharedStorage, got a {type(storage).__name__}")
        super().register_storage(storage)

    def add(self, data: TensorDictBase) -> Any:
        """Append one row, and return its slot: an int, or int64 [elements, dimensions] if it has several."""
        return self._written(batch_of([data]), one=True)

    def extend(self, data: Any) -> torch.Tensor:
        """Append a batch, or a list of rows, and return the slots: int64 [n], or [n, dimensions].

        Raises:
            RowsMismatch, NoRoom, RingBusy.
        """
        return cast("torch.Tensor", self._written(batch_of(data), one=False))

    @property
    def _cursor(self) -> int:
        return self._ring.head % self._ring.capacity if self._storage.initialized else 0

    @property
    def _write_count(self) -> int:
        if not self._storage.initialized:
            return 0
        inner = self._storage._total_shape[1:]  # noqa: SLF001 - torchrl's name for it
        return int(self._ring.written * inner.numel())

    @property
    def _ring(self) -> Any:
        return self._storage.shared.moment()

    def _written(self, data: TensorDictBase, *, one: bool) -> Any:
        for key in self._without:
            if key in data.keys():  # noqa: SIM118 - a TensorDict iterates over its batch
                data = data.exclude(*self._without)
                break
        slots = self._storage.append(data)
        index = self._replicate_index(int(slots[0]) if one else slots)
        for entity in self._storage._attached_entities_iter():  # noqa: SLF001 - torchrl's way to tell samplers
            entity.mark_update(index)
        return index

    def _empty(self, empty_write_count: bool = True) -> None:  # noqa: FBT001, FBT002 - torchrl's signature
        self._storage.shared.empty(count=empty_write_count)

    def dumps(self, path: Any) -> None:
        """The storage keeps all of it."""

    def loads(self, path: Any) -> None:
        """The storage brings all of it back."""

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: the storage keeps all of it."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The storage brings all of it back."""

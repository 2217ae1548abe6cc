"""torchrl's replay buffers, and what has their interface, behind the port of storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torchrl.data import (
    PrioritizedSampler,
    RandomSampler,
    SamplerWithoutReplacement,
    SliceSampler,
)

from harness.ports.pool import START_METHODS
from harness.ports.storage import ROWS, Columns, Sampled, StorageSetup, Stored

TRAJECTORY = "trajectory"


def _samplers() -> frozenset[str]:
    """Those that there are: priorities need an extension of torchrl that is not there for every torch."""
    found = {"uniform", "slices", "epochs"}
    try:
        PrioritizedSampler(1, alpha=1.0, beta=1.0)
    except RuntimeError:
        return frozenset(found)
    return frozenset({*found, "prioritized"})


def setup_words() -> dict[str, frozenset[str | int]]:
    """What buffers behind torchrl's interface accept of each setup key."""
    return {
        "writers": frozenset({"process", "driver"}),
        "medium": frozenset({"memory", "disk"}),
        "start_method": START_METHODS,
        "dims": frozenset({1, 2}),
        "rows": ROWS,
        "sampler": _samplers(),
    }


def sampler_of(setup: StorageSetup) -> Any:
    """The sampler that a setup names."""
    match setup.sampler:
        case "slices":
            return SliceSampler(slice_len=setup.slice_len, traj_key=TRAJECTORY)
        case "prioritized":
            return PrioritizedSampler(setup.capacity, alpha=1.0, beta=1.0)
        case "epochs":
            return SamplerWithoutReplacement()
        case _:
            return RandomSampler()


def ahead(setup: StorageSetup) -> dict[str, int]:
    """What a buffer that draws samples ahead is told."""
    if not setup.prefetch:
        return {}
    return {"prefetch": setup.prefetch, "batch_size": setup.ahead_size}


class TensorDictStorage:
    """One buffer; it pickles as far as its buffer does.

    Args:
        buffer: the buffer.
        dims: as the setup says.
        slots: which slots of its storage hold rows.
        get: reads rows out of a buffer.
    """

    def __init__(
        self,
        buffer: Any,
        dims: int,
        slots: Callable[[Any], Sequence[int]],
        get: Callable[[Any, Any], Any],
    ) -> None:
        self.buffer = buffer
        self._dims = dims
        self._slots = slots
        self._get = get

    def extend(self, columns: Columns) -> None:
        """Append rows; torchrl's batches of several envs have those first."""
        self.buffer.extend(self._batch(columns))

    def sample(self, size: int) -> Sampled:
        """Draw elements."""
        data, info = self.buffer.sample(size, return_info=True)
        parts = info["index"]
        if not isinstance(parts, tuple):
            index = torch.as_tensor(parts)
            parts = (index if index.ndim > 1 else index.unsqueeze(1)).unbind(1)
        slots = [
            list(map(int, each)) for each in zip(*(part.tolist() for part in parts), strict=True)
        ]
        return Sampled(slots=slots, columns=_columns(data))

    def read_all(self) -> Stored:
        """Everything, by the storage's own order: its first dimension is the ring's."""
        storage = self.buffer.storage
        slots = self._slots(storage)
        if not slots:
            return Stored(length=len(storage), slots=(), columns=_NOTHING[self._dims])
        data = self._get(self.buffer, torch.as_tensor(list(slots)))
        return Stored(length=len(storage), slots=slots, columns=_columns(data))

    def set_priorities(self, slots: Sequence[Sequence[int]], priorities: Sequence[float]) -> None:
        """Tell the sampler."""
        index = torch.as_tensor([slot[0] for slot in slots])
        self.buffer.update_priority(index, torch.as_tensor(priorities))

    def empty(self) -> None:
        """Drop all rows."""
        self.buffer.empty()

    def dump(self, path: str) -> None:
        """Keep it."""
        self.buffer.dumps(path)

    def load(self, path: str) -> None:
        """Bring it back."""
        self.buffer.loads(path)

    def close(self) -> None:
        """Nothing is to be closed: it goes with the last who has it."""

    def _batch(self, columns: Columns) -> TensorDict:
        shape = next(iter(columns.values())).shape[: self._dims]
        data: dict[Any, Any] = {
            tuple(key.split("/")): torch.from_numpy(np.ascontiguousarray(value))
            for key, value in columns.items()
        }
        batch = TensorDict({}, batch_size=shape)
        for key, value in data.items():
            batch.set(key, value)
        return batch.transpose(0, 1).contiguous() if self._dims == 2 else batch


_NOTHING = {
    dims: {key: np.zeros((0,) * dims, dtype="int64") for key in ("stream", "number")}
    for dims in (1, 2)
}


def _columns(data: Any) -> dict[str, Any]:
    leaves = data.items(include_nested=True, leaves_only=True)
    return {
        "/".join(key) if isinstance(key, tuple) else key: value.detach().numpy()
        for key, value in leaves
        if key != "index"
    }

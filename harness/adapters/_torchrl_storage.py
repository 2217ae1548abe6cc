"""torchrl's replay buffer over its `LazyTensorStorage` and `LazyMemmapStorage`, behind the port of storage."""

from __future__ import annotations

import functools
from typing import Any

from torchrl.data import LazyMemmapStorage, LazyTensorStorage, ReplayBuffer

from harness.adapters.tensordict_storage import TensorDictStorage, ahead, sampler_of, setup_words
from harness.ports.storage import (
    WORKER_OPS,
    Hold,
    Point,
    StorageCapabilities,
    StoragePort,
    StorageSetup,
)

CAPABILITIES = StorageCapabilities(
    verbs=frozenset({"set_priorities", "empty", "dump", "load"}),
    setup=setup_words(),
    worker_ops=WORKER_OPS,
)
_STORAGE = "torchrl.data.replay_buffers.storages.tensor:TensorStorage"
_WRITER = "torchrl.data.replay_buffers.writers.round_robin:RoundRobinWriter"
# The writer moves its cursor, then has the storage set rows at the places that were before it, entry by entry.
HOLDS: dict[Point, Hold] = {
    "claim": Hold(target=f"{_STORAGE}.set"),
    "row": Hold(target="tensordict:TensorDict._set_at_str", nth=3),
    "commit": Hold(target=f"{_WRITER}._mark_update_entities"),
    "read": Hold(target=f"{_STORAGE}.get"),
}


def _slots(width: int, storage: Any) -> range:
    """It says how many there are, and that they are the first ones."""
    return range(len(storage) // width)


def _get(buffer: Any, slots: Any) -> Any:
    """By the buffer, under whose lock writers are; it gives the ring's dimension last."""
    data = buffer[: len(slots)]
    return data.transpose(0, 1) if buffer.storage.ndim > 1 else data


def _make(setup: StorageSetup, path: str | None) -> TensorDictStorage:
    """A buffer whose writers are processes is `shared`, and its storage is set up by whoever comes first."""
    shared = setup.writers == "process"
    storage: Any
    if path is None:
        storage = LazyTensorStorage(setup.capacity, ndim=setup.dims, shared_init=shared)
    else:
        storage = LazyMemmapStorage(
            setup.capacity, scratch_dir=path, ndim=setup.dims, shared_init=shared, existsok=True
        )
    buffer = ReplayBuffer(
        storage=storage,
        sampler=sampler_of(setup),
        shared=shared,
        **ahead(setup),
    )
    return TensorDictStorage(
        buffer, setup.dims, functools.partial(_slots, setup.width if setup.dims == 2 else 1), _get
    )


port = StoragePort(capabilities=CAPABILITIES, make=_make, holds=HOLDS)

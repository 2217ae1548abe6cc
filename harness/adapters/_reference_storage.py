"""The reference's replay storage behind its port; the classes of its parts are parameters, for wrong variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from harness.adapters.tensordict_storage import TensorDictStorage, ahead, sampler_of, setup_words
from harness.ports.backend import own_bound
from harness.ports.storage import (
    OPTIONAL,
    WORKER_OPS,
    Hold,
    Point,
    StorageCapabilities,
    StoragePort,
    StorageSetup,
)
from reference_impl.storage import SharedReplayBuffer, SharedStorage

DEADLINE_S = 5.0  # of a call, where nobody says
CAPABILITIES = StorageCapabilities(
    verbs=OPTIONAL,
    setup=setup_words(),
    worker_ops=WORKER_OPS,
)
HOLDS: dict[Point, Hold] = {
    "claim": Hold(target="reference_impl.storage.shared_ring:SharedRing.claim", edge="after"),
    "row": Hold(target="reference_impl.storage.columns:Columns.write", edge="within", argument=2),
    "commit": Hold(target="reference_impl.storage.shared_ring:SharedRing.commit"),
    "read": Hold(target="reference_impl.storage.view:View.get", edge="after"),
}


def _slots(storage: Any) -> Sequence[int]:
    if not storage.initialized:
        return ()
    every = torch.arange(storage.shape[0])
    found: list[int] = every[storage.contains(every)].tolist()
    return found


def _get(buffer: Any, slots: Any) -> Any:
    return buffer.storage.get(slots)


class ReferenceStorage(TensorDictStorage):
    """A buffer whose waits fit the deadlines of calls."""

    def allow(self, deadline_s: float) -> None:
        """Calls end within this time; writers that start later do as well."""
        self.buffer.storage.patience_s = own_bound(deadline_s)


def storage_port_of(
    make_storage: Callable[..., Any] = SharedStorage,
    make_buffer: Callable[..., Any] = SharedReplayBuffer,
    capabilities: StorageCapabilities = CAPABILITIES,
) -> StoragePort:
    """The port of the reference's storage, or of a variant that is made with the same arguments."""

    def make(setup: StorageSetup, path: str | None) -> TensorDictStorage:
        patience_s = own_bound(DEADLINE_S)
        storage = make_storage(setup.capacity, ndim=setup.dims, path=path, patience_s=patience_s)
        buffer = make_buffer(
            storage=storage,
            sampler=sampler_of(setup),
            **ahead(setup),
        )
        return ReferenceStorage(buffer, setup.dims, _slots, _get)

    return StoragePort(capabilities=capabilities, make=make, holds=HOLDS)

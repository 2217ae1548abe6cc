"""A ring whose adapter says wrongly where in its code a point is."""

from __future__ import annotations

from harness.adapters.numpy_ring import NumpyRing
from harness.ports.backend import Backend
from harness.ports.storage import Hold, StorageCapabilities, StoragePort

port = StoragePort(
    capabilities=StorageCapabilities(worker_ops=frozenset({"extend", "row"})),
    make=lambda setup, _: NumpyRing(setup),
    holds={"row": Hold(target="harness.adapters.numpy_ring:NumpyRing.extent")},
)
backend = Backend(name="misheld", version=lambda: "1", storage=port)

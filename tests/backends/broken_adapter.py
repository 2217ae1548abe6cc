"""An adapter with a mistake of its own: it asks a result for something that is not there."""

from __future__ import annotations

from harness.ports.pool import Batch
from tests.backends.serial import SerialPool, backend_over


class Mistaken(SerialPool):
    def reset(self) -> Batch:
        batch = super().reset()
        return batch.no_such_field  # type: ignore[attr-defined,no-any-return] # that is the point


backend = backend_over(Mistaken, "mistaken")

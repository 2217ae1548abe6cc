"""A backend that leaves a file where its cell does not end, which no cleaning of the cell can know of."""

from __future__ import annotations

import os
import tempfile

from harness.ports.backend import Backend
from harness.ports.pool import PoolCapabilities, PoolPort
from tests.backends.serial import SerialPool


class _Litters(SerialPool):
    def close(self) -> None:
        """Close, and leave a file beside the directories of the cells."""
        super().close()
        beside = os.path.dirname(tempfile.gettempdir())
        os.close(tempfile.mkstemp(prefix="litter-", dir=beside)[0])


backend = Backend(
    name="littering",
    version=lambda: "1",
    pool=PoolPort(
        capabilities=PoolCapabilities(setup={"transport": frozenset({"thread"})}), make=_Litters
    ),
)

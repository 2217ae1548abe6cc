"""A backend that leaves a file where its cell does not end, which no cleaning of the cell can know of."""

from __future__ import annotations

import os
import tempfile

from tests.backends.serial import SerialPool, backend_over


class _Litters(SerialPool):
    def close(self) -> None:
        """Close, and leave a file beside the directories of the cells."""
        super().close()
        beside = os.path.dirname(tempfile.gettempdir())
        os.close(tempfile.mkstemp(prefix="litter-", dir=beside)[0])


backend = backend_over(_Litters, "littering")

"""The reference's pool, whose workers are others than it was asked for, or than it says."""

from __future__ import annotations

from typing import Any

from harness.planted.variants import planted
from reference_impl.pool import AsyncEnvPool


def _processes(*args: Any, **options: Any) -> AsyncEnvPool:
    """One whose workers are processes, whatever is asked for."""
    return AsyncEnvPool(*args, **{**options, "backend": "multiprocessing"})


class _Misnamed(AsyncEnvPool):
    @property
    def worker_pids(self) -> list[int]:
        """The last worker's first."""
        return super().worker_pids[::-1]


threads_are_processes = planted("threads_are_processes", _processes)
workers_misnamed = planted("workers_misnamed", _Misnamed)

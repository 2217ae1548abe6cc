"""Faults of what the operating system gives: descriptors, address space, shared memory, processors.

They strike the driver at their own step, and whoever it starts from then on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from harness.faults.common import Common
from harness.ports.faults import Stage

_STATUS = Path("/proc/self/status")
_CAP_SYS_ADMIN = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scarce(Common):
    """Something runs short from this step on; the heal, or the end of the scenario, gives it back."""

    ahead: ClassVar[bool] = True

    def heal(self, stage: Stage) -> None:
        """Give back what there was before."""
        stage.shortages.end(self.id)
        stage.record(self.id, "healed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(_Scarce):
    """A limit is lowered to little above what is in use; its effect is that more than that is refused.

    Attributes:
        resource: `nofile`: descriptors that a process may have open; `as`: its address space.
        spare: how many more descriptors, or MiB, there may be.
    """

    resource: Literal["nofile", "as"] = "nofile"
    spare: int = 4
    fault: Literal["limit"] = "limit"

    def arm(self, stage: Stage) -> None:
        """Lower it."""
        stage.record(self.id, "armed")
        stage.shortages.limit(self.id, self.resource, self.spare)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullSharedMemory(_Scarce):
    """There is no room left in /dev/shm; its effect is that a page cannot be written there."""

    fault: Literal["full_shared_memory"] = "full_shared_memory"

    @property
    def lacking(self) -> str | None:
        """Room can only be taken from a /dev/shm of the cell's own."""
        return None if _may_mount() else "filling /dev/shm needs root, and the right to mount"

    def arm(self, stage: Stage) -> None:
        """Take all room."""
        stage.record(self.id, "armed")
        stage.shortages.fill_shared_memory(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDisk(FullSharedMemory):
    """The disk on which the storage lies is full: a cell's storage lies in a file system of the cell's own."""

    fault: Literal["full_disk"] = "full_disk"  # type: ignore[assignment]  # it is another one's name

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """Only what lies on a disk needs room there."""
        del capabilities
        return None if setup["medium"] == "disk" else "the storage lies on no disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneProcessor(_Scarce):
    """All processes that start from here on share one processor with the driver."""

    fault: Literal["one_processor"] = "one_processor"

    def arm(self, stage: Stage) -> None:
        """Leave one."""
        stage.record(self.id, "armed")
        stage.shortages.pin(self.id)


def _may_mount() -> bool:
    """Whether a cell gets a /dev/shm of its own here."""
    try:
        found = re.search(r"^CapEff:\s*([0-9a-f]+)$", _STATUS.read_text(), re.MULTILINE)
    except OSError:
        return False
    return os.geteuid() == 0 and found is not None and bool(int(found[1], 16) & _CAP_SYS_ADMIN)

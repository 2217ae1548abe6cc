"""Faults of what is written into a storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from harness.faults.common import Common
from harness.model.scenario import Placement
from harness.ports.faults import Stage
from harness.ports.storage import RowDefect


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRows(Common):
    """A batch does not fit what is stored; later ones do.

    Attributes:
        at: an extend of the driver's; it strikes before it.
        defect: an array is missing, is of another shape, or of a type that cannot be stored without loss.
    """

    at: Placement
    defect: RowDefect
    fault: Literal["bad_rows"] = "bad_rows"
    ops: ClassVar[frozenset[str]] = frozenset({"extend"})

    def unsupported(self, setup: Mapping[str, Any], capabilities: Any) -> str | None:
        """A backend that takes no arrays by name cannot be given wrong ones."""
        del setup
        possible = self.defect in capabilities.defects
        return None if possible else f"a batch with {self.defect} cannot be put to the backend"

    def arm(self, stage: Stage) -> None:
        """Wait for its batch."""
        stage.record(self.id, "armed")

    def fire(self, stage: Stage) -> None:
        """Spoil the batch that comes next."""
        stage.record(self.id, "reached")
        stage.spoil_next_send(self.id, self.defect)

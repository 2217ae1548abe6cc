"""Planted bugs that show when workers are replaced, as `catalogue_params` has them, too."""

from __future__ import annotations

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

RESTARTS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="lost_step_repeated",
        backend="harness.planted.restarts:lost_step_repeated",
        text="A step that was lost with its worker is carried out once more by the new one.",
        caught_by="episode_model",
        rows=rows(
            "pool",
            "restarted_among_sends[]",
            "restarted_while_idle[exchange=value]",
            "restarted_worker[exchange=value]",
        ),
    ),
)

"""Planted bugs by which rows never come."""

from __future__ import annotations

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

MISSING: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="half_a_rollout",
        backend="harness.planted.missing:half_a_rollout",
        text="A collector hands out the first half of the frames that it was asked for.",
        caught_by="routing",
        rows=rows("pool", "collector_rollout[stack={dense|lazy},transport={thread|process}]"),
    ),
    PlantedBug(
        name="one_worker_speaks",
        backend="harness.planted.missing:one_worker_speaks",
        text="A forward of all workers returns what the first of them has read.",
        caught_by="no_torn_forward",
        rows=rows(
            "weights",
            "clean_updates[scheme={copy|shared}]",
            "threads_clean_updates[scheme={copy|shared}]",
        ),
    ),
)

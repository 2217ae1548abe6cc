"""Planted bugs that show where batches are lent."""

from __future__ import annotations

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

LOANS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="loans_forgotten",
        backend="harness.planted.loans:loans_forgotten",
        text="An env whose batch is lent takes a step, which writes over it.",
        caught_by="ownership",
        rows=rows("pool", "lent_batch_is_not_written_over[]"),
    ),
    PlantedBug(
        name="never_given_back",
        backend="harness.planted.loans:never_given_back",
        text="What was lent counts as lent for ever.",
        caught_by="expected_outcome",
        rows=rows("pool", "lent_batch_is_not_written_over[]"),
    ),
)

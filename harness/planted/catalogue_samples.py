"""Planted bugs of what a sample of a storage looks like."""

from __future__ import annotations

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

_SAMPLED = rows(
    "storage",
    "clean_writes[medium={memory|disk},writers={process|driver}]",
    "rows_of_several_envs[width={2|3},writers={process|driver}]",
)


def _bug(name: str, caught_by: str, text: str) -> PlantedBug:
    backend = f"harness.planted.samples:{name}"
    return PlantedBug(name=name, backend=backend, text=text, caught_by=caught_by, rows=_SAMPLED)


SAMPLES: tuple[PlantedBug, ...] = (
    _bug("sample_of_one", "no_loss_no_dup", "A sample is of one element, whatever was asked for."),
    _bug("sample_lacks_an_array", "rows_whole", "A sample lacks one of the arrays of a row."),
    _bug(
        "sample_of_wider_numbers", "rows_whole", "Numbers are sampled in a wider type than theirs."
    ),
    _bug(
        "sample_of_columns", "rows_whole", "What is one number an element is sampled as a column."
    ),
)

"""Planted bugs of what workers are: a row that says something else of them has shown nothing."""

from __future__ import annotations

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

DECLARED: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="threads_are_processes",
        backend="harness.planted.declared:threads_are_processes",
        text="Workers are processes where threads are asked for.",
        caught_by="as_declared",
        rows=rows("pool", "clean_run[host={bare|transformed},transport=thread]"),
    ),
    PlantedBug(
        name="workers_misnamed",
        backend="harness.planted.declared:workers_misnamed",
        text="The pool names its worker processes in another order than that of its envs.",
        caught_by="as_declared",
        rows=rows("pool", "clean_run[host={bare|transformed},transport=process]"),
    ),
)

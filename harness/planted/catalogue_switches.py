"""Planted bugs that show when parameters change in envs whose workers are lost."""

from __future__ import annotations

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

SWITCHES: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="waiting_forgotten",
        backend="harness.planted.switches:waiting_forgotten",
        text="Parameters that wait for a reset are lost with the worker.",
        caught_by="params_applied",
        rows=rows("pool", "params_that_wait_when_a_worker_is_lost[exchange={value|slots}]"),
    ),
    PlantedBug(
        name="params_told_once",
        backend="harness.planted.switches:params_told_once",
        text="What the first new worker of an env was told of its parameters, the next one is not.",
        caught_by="params_applied",
        rows=rows("pool", "params_of_a_worker_that_is_lost_twice[exchange={value|slots}]"),
    ),
)

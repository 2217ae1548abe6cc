"""Planted bugs in how gymnasium envs are stepped straight into their slots."""

from __future__ import annotations

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

_ANY_FORM = rows(
    "pool",
    "gymnasium_children_of_any_form[exchange={slots|auto},payload={plain|image|special|reused}]",
)

GYMNASIUM: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="gymnasium_final_lost",
        backend="harness.planted.gymnasium_children:gymnasium_final_lost",
        text="The last observation of a gymnasium env's episode is overwritten by the first of the next.",
        caught_by="episode_model",
        rows=_ANY_FORM,
    ),
    PlantedBug(
        name="gymnasium_flags_kept",
        backend="harness.planted.gymnasium_children:gymnasium_flags_kept",
        text="What the first step of a gymnasium env said of its episode is said by all later ones.",
        caught_by="episode_model",
        rows=_ANY_FORM,
    ),
    PlantedBug(
        name="gymnasium_step_tried_again",
        backend="harness.planted.gymnasium_children:gymnasium_step_tried_again",
        text="A step in which a gymnasium env raises is carried out once more, and nobody learns of it.",
        caught_by="failure_attributed",
        rows=rows("pool", "gymnasium_child_that_fails[exchange=slots]"),
    ),
)

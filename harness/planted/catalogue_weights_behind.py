"""Planted bugs where weights travel behind their instructions: what is wrong, who has to catch it, and where."""

from __future__ import annotations

from harness.model.planted import PlantedBug

_BEHIND = "harness.planted.weights_behind"

BEHIND_BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="weights_not_awaited",
        backend=f"{_BEHIND}:weights_not_awaited",
        text="A worker acknowledges an instruction whose weights have not come, and acts on those that it had.",
        caught_by="weights_fresh",
        rows=frozenset({"weights/weights_late[]", "weights/weights_lost[]"}),
    ),
    PlantedBug(
        name="weights_in_order",
        backend=f"{_BEHIND}:weights_in_order",
        text="A worker takes whatever weights come next for those of its instruction: after a loss it waits for ever.",
        caught_by="expected_outcome",
        rows=frozenset({"weights/weights_lost[]"}),
    ),
)
"""All of them."""

"""Planted bugs where workers join and lose their sender of weights: what is wrong, who has to catch it, and where."""

from __future__ import annotations

from harness.model.planted import PlantedBug

_MEMBERSHIP = "harness.planted.weights_membership"

MEMBERSHIP_BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="first_weights_for_all",
        backend=f"{_MEMBERSHIP}:first_weights_for_all",
        text="All workers get the first weights that are meant for one of them.",
        caught_by="setup_order",
        rows=frozenset(
            f"weights/first_weights_by_worker[scheme={scheme}]" for scheme in ("copy", "shared")
        ),
    ),
    PlantedBug(
        name="trainer_unwatched",
        backend=f"{_MEMBERSHIP}:trainer_unwatched",
        text="Forked workers hold each other's channels open, and none looks whether its trainer lives.",
        caught_by="no_orphans",
        rows=frozenset(
            f"weights/{name}[scheme={scheme}]"
            for name in ("owner_killed_between_sends", "owner_killed_in_a_send")
            for scheme in ("copy", "shared")
        ),
    ),
    PlantedBug(
        name="cut_off_forgotten",
        backend=f"{_MEMBERSHIP}:cut_off_forgotten",
        text="The memory that a worker acts on is written again once nothing reaches the worker any more.",
        caught_by="weights_fresh",
        rows=frozenset({"weights/cut_off_worker_keeps_its_version[scheme=shared]"}),
    ),
)
"""All of them."""

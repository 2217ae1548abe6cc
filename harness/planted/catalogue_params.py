"""Planted bugs that show when parameters change, or when a worker is replaced."""

from __future__ import annotations

from functools import partial

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

_pool = partial(rows, "pool")
_STATISTICS = _pool(
    "statistics_after_new_params[host={bare|transformed},transport={thread|process}]",
    "slots_statistics_after_new_params[host={bare|transformed}]",
)
_WRAPPED = _pool("params_through_wrappers[host={bare|transformed},transport={thread|process}]")

PARAMS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="first_env_only",
        backend="harness.planted.params:first_env_only",
        text="Of the envs that are named the first one alone gets the attribute.",
        caught_by="params_applied",
        rows=_WRAPPED
        | _pool(
            "params_as_freshly_built[exchange=value]",
            "params_between_steps[exchange=value]",
            "params_of_gymnasium_children[exchange=value]",
            "params_of_some[exchange=value]",
            "params_of_threads[]",
            "params_while_steps_are_in_flight[transport={thread|process}]",
            "slots_params_while_steps_are_in_flight[]",
        ),
    ),
    PlantedBug(
        name="outermost_wrapper",
        backend="harness.planted.params:outermost_wrapper",
        text="An attribute is set on the outermost wrapper, and the env goes on with its own.",
        caught_by="params_applied",
        rows=_WRAPPED,
    ),
    PlantedBug(
        name="params_at_once",
        backend="harness.planted.params:params_at_once",
        text="Parameters that are to wait for a reset are in force at once.",
        caught_by="params_applied",
        rows=_pool(
            "params_at_reset[exchange=value,host={bare|transformed}]",
            "params_at_reset_of_threads[]",
        ),
    ),
    PlantedBug(
        name="params_forgotten",
        backend="harness.planted.params:params_forgotten",
        text="A worker that is replaced begins with the parameters that its env was made with.",
        caught_by="params_applied",
        rows=_pool(
            "params_of_a_worker_that_is_lost_twice[exchange={value|slots}]",
            "params_that_wait_when_a_worker_is_lost[exchange={value|slots}]",
            "restarted_worker[exchange=value]",
        ),
    ),
    PlantedBug(
        name="fewer_frames",
        backend="harness.planted.params:fewer_frames",
        text="Statistics are made anew of fewer frames than were asked for.",
        caught_by="as_freshly_built",
        rows=_STATISTICS,
    ),
    PlantedBug(
        name="statistics_kept",
        backend="harness.planted.params:statistics_kept",
        text="Transforms keep the statistics of the old parameters.",
        caught_by="transforms_reinitialised",
        rows=_STATISTICS,
    ),
    PlantedBug(
        name="rebuilt_for_params",
        backend="harness.planted.params:rebuilt_for_params",
        text="New parameters are given to new workers.",
        caught_by="same_workers",
        rows=_pool(
            "params_as_freshly_built[exchange=value]",
            "params_between_steps[exchange=value]",
            "params_of_some[exchange=value]",
            "params_through_wrappers[host={bare|transformed},transport=process]",
        ),
    ),
    PlantedBug(
        name="seed_repeated",
        backend="harness.planted.params:seed_repeated",
        text="A worker that is replaced is seeded as the lost one was, and draws the same.",
        caught_by="worker_restarts",
        rows=_pool("restarted_worker[exchange=value]"),
    ),
    PlantedBug(
        name="cut_unmarked",
        backend="harness.planted.params:cut_unmarked",
        text="A step that was lost with its worker is answered as if the episode went on.",
        caught_by="episode_model",
        rows=_pool(
            "restarted_among_sends[]",
            "restarted_while_idle[exchange=value]",
            "restarted_worker[exchange=value]",
        ),
    ),
)

"""Planted bugs that show where a worker has several envs."""

from __future__ import annotations

from functools import partial

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

_pool = partial(rows, "pool")
_RESTARTED = _pool("restarted_with_its_neighbours[exchange={value|slots}]")

SEVERAL: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="first_answers_for_all",
        backend="harness.planted.several:first_answers_for_all",
        text="Whichever env of a worker is asked, one and the same answers.",
        caught_by="routing",
        rows=_pool(
            "several_envs_a_worker[envs_per_worker={2|8},transport={thread|process}]",
            "neighbours_reset_by_turns[exchange=value]",
        ),
    ),
    PlantedBug(
        name="neighbours_waited_for",
        backend="harness.planted.several:neighbours_waited_for",
        text="A worker hands out no answer before its last env has its own.",
        caught_by="expected_outcome",
        rows=_pool("neighbour_that_stalls_later[exchange=value]"),
    ),
    PlantedBug(
        name="failing_env_ends_its_worker",
        backend="harness.planted.several:failing_env_ends_its_worker",
        text="An env that raises ends its worker, and takes its neighbours along.",
        caught_by="failure_attributed",
        rows=_pool("neighbour_that_fails[transport=process]"),
    ),
    PlantedBug(
        name="first_env_lost",
        backend="harness.planted.several:first_env_lost",
        text="Of the envs of a worker that dies the first alone is lost: the others are waited for.",
        caught_by="bounded_calls",
        rows=_pool("results_beside_a_killed_worker[exchange=value]"),
    ),
    PlantedBug(
        name="neighbours_reset_along",
        backend="harness.planted.several:neighbours_reset_along",
        text="A partial reset restarts all envs of the workers that it reaches.",
        caught_by="reset_mask",
        rows=_pool("neighbours_reset_by_turns[exchange={value|slots}]"),
    ),
    PlantedBug(
        name="neighbours_changed_along",
        backend="harness.planted.several:neighbours_changed_along",
        text="New parameters of one env are given to all envs of its worker.",
        caught_by="params_applied",
        rows=_pool("params_of_neighbours[exchange={value|slots}]"),
    ),
    PlantedBug(
        name="neighbours_uncut",
        backend="harness.planted.several:neighbours_uncut",
        text="Of the envs of a worker that is replaced those that were idle go on as if they had not moved.",
        caught_by="episode_model",
        rows=_RESTARTED,
    ),
    PlantedBug(
        name="params_of_the_first",
        backend="harness.planted.several:params_of_the_first",
        text="All envs of a worker that is replaced begin with the parameters of its first.",
        caught_by="params_applied",
        rows=_RESTARTED,
    ),
    PlantedBug(
        name="neighbours_seeded_alike",
        backend="harness.planted.several:neighbours_seeded_alike",
        text="All envs of a worker that is replaced are seeded alike.",
        caught_by="worker_restarts",
        rows=_RESTARTED,
    ),
    PlantedBug(
        name="rung_at_the_end",
        backend="harness.planted.several:rung_at_the_end",
        text="A worker tells of answers in slots once all of its envs have theirs.",
        caught_by="expected_outcome",
        rows=_pool("neighbour_that_stalls_later[exchange=slots]"),
    ),
    PlantedBug(
        name="round_ends_at_a_failure",
        backend="harness.planted.several:round_ends_at_a_failure",
        text="What the neighbours of an env that fails were asked in the same round is forgotten.",
        caught_by="usable_after",
        rows=_pool("neighbour_that_fails_in_its_slot[envs_per_worker={2|8}]"),
    ),
    PlantedBug(
        name="env_misnamed",
        backend="harness.planted.several:env_misnamed",
        text="An error gives the number of the worker for that of the env.",
        caught_by="failure_attributed",
        rows=_pool(
            "neighbour_fails_at_construction[transport={thread|process}]",
            "neighbour_that_fails[transport={thread|process}]",
            "neighbours_of_a_killed_env[exchange={value|slots}]",
            "results_beside_a_killed_worker[exchange={value|slots}]",
        ),
    ),
    PlantedBug(
        name="one_answer_a_ring",
        backend="harness.planted.several:one_answer_a_ring",
        text="A worker that was rung for several slots answers the first, and sleeps again.",
        caught_by="bounded_calls",
        rows=_pool("slots_of_several_envs[envs_per_worker=2,exchange=slots]"),
    ),
)

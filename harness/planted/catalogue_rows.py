"""Planted bugs that only rows beyond the plain ones show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.model.planted import PlantedBug

_EITHER = ("transport=thread", "transport=process")
_BARE = ("host=bare,transport=thread", "host=bare,transport=process")
_ANY_HOST = (*_BARE, "host=transformed,transport=thread", "host=transformed,transport=process")
_ONE = ("",)


def _rows(name: str, keys: Iterable[str]) -> frozenset[str]:
    return frozenset(f"pool/{name}[{key}]" for key in keys)


_OF_LIFETIME = frozenset(
    {
        "all_workers_of_the_process",
        "few_pools",
        "nothing_ended_unbuilt",
        "one_after_the_other",
        "dies_with_its_thread",
        "workers_log",
        "factories_pickled",
    }
)


def _bug(name: str, caught_by: str, rows: frozenset[str], text: str) -> PlantedBug:
    module = "pool_beside" if name in _OF_LIFETIME else "pool_edges"
    backend = f"harness.planted.{module}:{name}"
    return PlantedBug(name=name, backend=backend, text=text, caught_by=caught_by, rows=rows)


PLANTED_ROWS: tuple[PlantedBug, ...] = (
    _bug(
        "empty_mask_is_none",
        "reset_mask",
        _rows("reset_of_no_env", _BARE),
        "A mask that names no env is taken for no mask, so that all are reset.",
    ),
    _bug(
        "full_mask_ignored",
        "reset_mask",
        _rows("masks_by_turns", _BARE),
        "A mask that names every env resets none.",
    ),
    _bug(
        "fresh_ones_skipped",
        "reset_mask",
        _rows("partial_reset_at_the_end_of_an_episode", _BARE),
        "A masked env that the last step has reset already is left as it is.",
    ),
    _bug(
        "reset_twice_in_a_row",
        "episode_model",
        _rows("episodes_of_one_step", _BARE),
        "An env whose episodes end in two steps in a row is reset twice by the second.",
    ),
    _bug(
        "sixteen_at_most",
        "episode_model",
        _rows("many_envs", _EITHER),
        "No env after the sixteenth is stepped.",
    ),
    _bug(
        "sixteen_seeds",
        "seeds_distinct",
        _rows("many_seeds", _EITHER),
        "There are sixteen seeds, which come again for the envs after the sixteenth.",
    ),
    _bug(
        "equal_seed_skipped",
        "seeds_distinct",
        _rows("seeded_alike_twice", _EITHER),
        "A base seed that equals the last one is not given to the envs.",
    ),
    _bug(
        "seeds_of_all_pools",
        "seeds_distinct",
        _rows("seeded_again_in_the_next_pool", _EITHER),
        "Seeds count the pools that the process has made.",
    ),
    _bug(
        "no_time_is_forever",
        "bounded_calls",
        _rows("short_timeouts", _EITHER),
        "A timeout of nothing is taken for none.",
    ),
    _bug(
        "in_their_order",
        "bounded_calls",
        _rows("env_fails_while_another_stalls", _EITHER)
        | _rows("worker_killed_while_another_stalls", _ONE)
        | _rows("receive_of_more_than_was_sent", _EITHER),
        "A receive waits for the first env before it looks at the others.",
    ),
    _bug(
        "waits_for_nothing",
        "bounded_calls",
        _rows("receive_without_send", _EITHER),
        "A receive waits for results though none is to come.",
    ),
    _bug(
        "waits_its_turn",
        "bounded_calls",
        _rows("sent_twice", _EITHER)
        | _rows("reset_with_results_pending", _EITHER)
        | _rows("partial_reset_with_results_pending", _EITHER),
        "A send or reset while results are pending waits for somebody to receive them.",
    ),
    _bug(
        "refused_takes_all",
        "usable_after",
        _rows("receive_of_more_than_was_sent", _EITHER),
        "A receive of more than is to come is refused once all that comes was dropped.",
    ),
    _bug(
        "reset_wedged",
        "usable_after",
        _rows("env_fails_at_a_later_reset", _EITHER)
        | _rows("env_fails_in_a_partial_reset", _EITHER)
        | _rows("reset_with_results_pending", _EITHER)
        | _rows("partial_reset_with_results_pending", _EITHER),
        "After a reset that an env made fail every reset is refused as under way.",
    ),
    _bug(
        "third_failure_hangs",
        "bounded_calls",
        _rows("env_fails_in_consecutive_steps", _EITHER),
        "The third failure in a row is waited for once more.",
    ),
    _bug(
        "all_workers_of_the_process",
        "expected_outcome",
        _rows("second_pool_beside", _ANY_HOST)
        | _rows("second_pool_closed_with_steps_in_flight", _EITHER),
        "Closing a pool ends the workers of all pools in the process.",
    ),
    _bug(
        "few_pools",
        "expected_outcome",
        _rows("many_pools_in_a_row", _EITHER) | _rows("worker_killed_in_the_tenth_pool", _ONE),
        "A pool takes one of eight slots, and its close does not give it back.",
    ),
    _bug(
        "nothing_ended_unbuilt",
        "no_leaks",
        _rows("env_fails_at_construction", _EITHER)
        | _rows("env_hangs_at_construction", _ONE)
        | _rows("worker_exits_at_construction", _ONE)
        | _rows("worker_killed_at_construction", _ONE),
        "A constructor that fails leaves the workers that it has started.",
    ),
    _bug(
        "one_after_the_other",
        "bounded_shutdown",
        _rows("shutdown_with_dead_stopped_and_hung_workers", _ONE),
        "Closing gives each worker the whole deadline, one after the other.",
    ),
    _bug(
        "dies_with_its_thread",
        "expected_outcome",
        _rows("built_in_a_thread_that_ends", ("transport=process",)),
        "Workers end with the thread that started them, and not with its process.",
    ),
    _bug(
        "workers_log",
        "expected_outcome",
        _rows("built_beside_a_thread_that_logs", ("transport=process",)),
        "Workers write to the log before anything else.",
    ),
    _bug(
        "factories_pickled",
        "expected_outcome",
        _rows("lambda_makes_envs_of_threads", _ONE),
        "Factories are pickled by name, however workers are started.",
    ),
)
"""All of them, in the order of their modules."""

_KILLED = (
    _rows("all_workers_killed", _ONE)
    | _rows("first_worker_killed", ("num_envs=1", "num_envs=3"))
    | _rows("last_worker_killed", _ONE)
    | _rows("two_workers_killed", _ONE)
    | _rows("worker_killed_beside_a_second_pool", _ONE)
    | _rows("worker_killed_in_the_tenth_pool", _ONE)
    | _rows("worker_killed_while_idle", _ONE)
)
_FAILING = _rows("closed_from_another_thread_after_an_error", _EITHER) | _rows(
    "env_fails_in_consecutive_steps", _EITHER
)
_TIMED = (
    _rows("env_fails_while_another_stalls", _EITHER)
    | _rows("receive_of_more_than_was_sent", _EITHER)
    | _rows("short_timeouts", _EITHER)
    | _rows("worker_killed_while_another_stalls", _ONE)
)
_BUILT_IN_A_THREAD = _rows("built_in_a_thread_that_ends", _EITHER)
_SEEDED = (
    _rows("many_seeds", _EITHER)
    | _rows("seeded_again_in_the_next_pool", _EITHER)
    | _rows("seeded_alike_twice", _EITHER)
)

ALSO_SHOWN: Mapping[str, frozenset[str]] = {
    "late_reply_taken": _TIMED,
    "timeout_per_wait": _TIMED,
    "final_overwritten": _BUILT_IN_A_THREAD
    | _rows("built_beside_a_thread_that_logs", _EITHER)
    | _rows("episodes_of_one_step", _BARE)
    | _rows("lambda_makes_envs_of_threads", _ONE)
    | _rows("long_episodes", _EITHER)
    | _rows("many_envs", _EITHER)
    | _rows("many_pools_in_a_row", _EITHER)
    | _rows("partial_reset_at_the_end_of_an_episode", _BARE),
    "mask_lost": _rows("env_fails_in_a_partial_reset", _EITHER)
    | _rows("masks_by_turns", _BARE)
    | _rows("partial_reset_at_the_end_of_an_episode", _BARE)
    | _rows("reset_of_no_env", _BARE),
    "worker_forgotten": _FAILING,
    "error_reported_twice": _FAILING,
    "cause_lost": _FAILING | _KILLED,
    "descriptor_forgotten": _KILLED,
    "dead_answered_for": _KILLED | _rows("worker_killed_before_the_first_reset", _ONE),
    "second_close_raises": _BUILT_IN_A_THREAD
    | _rows("all_workers_killed", _ONE)
    | _rows("closed_before_a_second_pool", _EITHER)
    | _rows("closed_from_another_thread_after_an_error", _EITHER)
    | _rows("env_fails_at_a_later_reset", _EITHER)
    | _rows("shutdown_after_an_idle_worker_was_killed", _ONE)
    | _rows("shutdown_with_dead_stopped_and_hung_workers", _ONE)
    | _rows("two_workers_killed", _ONE)
    | _rows("worker_killed_before_the_first_reset", _ONE)
    | _rows("worker_killed_in_the_tenth_pool", _ONE)
    | _rows("worker_killed_while_idle", _ONE),
    "slot_handed_out": _rows("reset_with_results_pending", _EITHER)
    | _rows("sent_steps_end_episodes", _EITHER),
    "equal_seeds": _SEEDED,
    "closed_by_its_owner_only": _BUILT_IN_A_THREAD
    | _rows("closed_from_another_thread_after_an_error", _EITHER),
    "silently_unusable": _rows("env_fails_in_consecutive_steps", _EITHER),
    "kill_withheld": _rows("shutdown_with_dead_stopped_and_hung_workers", _ONE),
}
"""Rows of the kind above that show a bug of the plain ones, too."""

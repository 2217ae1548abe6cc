"""Every planted bug: what is wrong, who has to catch it, and where."""

from __future__ import annotations

from dataclasses import replace

from harness.model.planted import PlantedBug
from harness.planted import resources_catalogue
from harness.planted.catalogue_declared import DECLARED
from harness.planted.catalogue_gymnasium import GYMNASIUM
from harness.planted.catalogue_loans import LOANS
from harness.planted.catalogue_missing import MISSING
from harness.planted.catalogue_neighbours import NEIGHBOURS
from harness.planted.catalogue_params import PARAMS
from harness.planted.catalogue_payloads import PAYLOADS
from harness.planted.catalogue_pool import POOL
from harness.planted.catalogue_restarts import RESTARTS
from harness.planted.catalogue_rows import ALSO_SHOWN, PLANTED_ROWS
from harness.planted.catalogue_samples import SAMPLES
from harness.planted.catalogue_several import SEVERAL
from harness.planted.catalogue_storage import STORAGE
from harness.planted.catalogue_switches import SWITCHES
from harness.planted.catalogue_transfers import (
    BROKEN,
    CUT_OFF,
    FULL,
    LOST,
    LOST_COMMANDS,
    REPEATED,
    TRANSFERS,
)
from harness.planted.catalogue_weights import WEIGHTS_BUGS
from harness.planted.catalogue_weights_behind import BEHIND_BUGS
from harness.planted.catalogue_weights_membership import MEMBERSHIP_BUGS
from harness.planted.exit_bugs import EXIT_BUGS
from harness.planted.slots_catalogue import SLOT_BUGS
from harness.planted.spec_catalogue import (
    SPEC_BUGS,
)

_FAILING = frozenset(
    {
        "pool/failing_env[transport=thread]",
        "pool/failing_env[transport=process]",
        "pool/reset_after_failing_env[transport=thread]",
        "pool/reset_after_failing_env[transport=process]",
        "pool/env_exits_in_a_step[transport=thread]",
    }
)
_KILLED = frozenset(
    {
        "pool/killed_worker[exchange=value]",
        "pool/killed_worker_noticed_at_once[]",
        "pool/env_exits_in_a_step[transport=process]",
        "pool/worker_terminated_in_a_step[]",
    }
)
_CLOSED_TWICE = frozenset(
    {
        "pool/clean_run[host=bare,transport=thread]",
        "pool/clean_run[host=bare,transport=process]",
        "pool/clean_run[host=transformed,transport=thread]",
        "pool/clean_run[host=transformed,transport=process]",
        "pool/closed_again_from_another_thread[host=bare,transport=thread]",
        "pool/closed_again_from_another_thread[host=bare,transport=process]",
        "pool/closed_again_from_another_thread[host=transformed,transport=thread]",
        "pool/closed_again_from_another_thread[host=transformed,transport=process]",
        "pool/closed_from_another_thread[transport=thread]",
        "pool/closed_from_another_thread[transport=process]",
        "pool/env_exits_in_a_step[transport=thread]",
        "pool/env_exits_in_a_step[transport=process]",
        "pool/env_fails_at_close[]",
        "pool/env_fails_at_first_reset[transport=thread]",
        "pool/env_fails_at_first_reset[transport=process]",
        "pool/env_hangs_at_close[]",
        "pool/sent_without_end[transport=thread]",
        "pool/sent_without_end[transport=process]",
        "pool/sent_without_receiving[transport=thread]",
        "pool/sent_without_receiving[transport=process]",
        "pool/shutdown_before_the_first_reset[transport=thread]",
        "pool/shutdown_before_the_first_reset[transport=process]",
        "pool/shutdown_while_a_thread_hangs[]",
        "pool/shutdown_while_a_worker_hangs[]",
        "pool/shutdown_while_a_worker_is_stopped[]",
        "pool/shutdown_with_results_unread[transport=thread]",
        "pool/shutdown_with_results_unread[transport=process]",
        "pool/shutdown_with_steps_in_flight[transport=thread]",
        "pool/shutdown_with_steps_in_flight[transport=process]",
        "pool/worker_exits_at_close[]",
        "pool/worker_exits_at_first_reset[]",
        "pool/worker_killed_with_results_unread[]",
    }
)
_TIMED = frozenset(
    {
        "pool/stalled_env[transport=thread]",
        "pool/stalled_env[transport=process]",
        "pool/collected_during_receive[transport=process]",
        "pool/shutdown_with_results_unread[transport=thread]",
        "pool/shutdown_with_results_unread[transport=process]",
        "pool/stopped_worker_goes_on[]",
    }
)

_FAILING |= BROKEN
_KILLED |= CUT_OFF
_CLOSED_TWICE |= FULL
_TIMED |= LOST

_PLAIN: tuple[PlantedBug, ...] = (
    *POOL,
    PlantedBug(
        name="late_reply_taken",
        backend="harness.planted.pool:late_reply_taken",
        text="A receive that times out asks again, and replies are matched by their order: the late "
        "one is taken for the answer of the next request.",
        caught_by="routing",
        rows=_TIMED | REPEATED,
    ),
    PlantedBug(
        name="final_overwritten",
        backend="harness.planted.pool:final_overwritten",
        text="The last observation of an episode is overwritten by the one of the reset.",
        caught_by="episode_model",
        rows=frozenset(
            {
                "pool/clean_run[host=bare,transport=thread]",
                "pool/clean_run[host=bare,transport=process]",
                "pool/collector_rollout[stack=dense,transport=thread]",
                "pool/collector_rollout[stack=dense,transport=process]",
                "pool/collector_rollout[stack=lazy,transport=thread]",
                "pool/collector_rollout[stack=lazy,transport=process]",
                "pool/held_batches[exchange=value,stack=dense]",
                "pool/held_batches[exchange=value,stack=lazy]",
                "pool/held_batches_of_threads[stack=dense]",
                "pool/held_batches_of_threads[stack=lazy]",
                "pool/full_shared_memory_at_construction[exchange=value]",
                "pool/full_shared_memory_between_steps[exchange=value]",
                "pool/no_descriptors_in_steps[exchange=value]",
                "pool/one_processor_for_all[transport=thread]",
                "pool/one_processor_for_all[transport=process]",
                "pool/stepped_many_times[transport=thread]",
                "pool/stepped_many_times[transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="mask_lost",
        backend="harness.planted.pool:mask_lost",
        text="The mask of a partial reset is lost, so that every env is reset.",
        caught_by="reset_mask",
        rows=frozenset(
            {
                "pool/partial_reset[host=bare,transport=thread]",
                "pool/partial_reset[host=bare,transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="timeout_per_wait",
        backend="harness.planted.pool:timeout_per_wait",
        text="A receive that is late waits a second time, for the whole timeout again.",
        caught_by="bounded_calls",
        rows=_TIMED | LOST_COMMANDS | {"pool/shutdown_while_a_channel_is_full[]"},
    ),
    PlantedBug(
        name="endless_drain",
        backend="harness.planted.pool:endless_drain",
        text="Closing drains the result channels of threads first, a closed one without end.",
        caught_by="bounded_shutdown",
        rows=frozenset({"pool/publicly_closed_result_channel[transport=thread]"}),
    ),
    PlantedBug(
        name="worker_forgotten",
        backend="harness.planted.pool:worker_forgotten",
        text="A worker whose env has failed is set aside, and shutdown does not end it.",
        caught_by="no_leaks",
        rows=_FAILING,
    ),
    PlantedBug(
        name="descriptor_forgotten",
        backend="harness.planted.pool:descriptor_forgotten",
        text="A worker that has died is set aside, and shutdown does not give its descriptors back.",
        caught_by="no_leaks",
        rows=_KILLED,
    ),
    PlantedBug(
        name="cause_lost",
        backend="harness.planted.pool:cause_lost",
        text="Whatever went wrong in a worker is replaced by a bare RuntimeError.",
        caught_by="failure_attributed",
        rows=_FAILING | _KILLED,
    ),
    PlantedBug(
        name="second_close_raises",
        backend="harness.planted.pool:second_close_raises",
        text="Closing a pool that is closed already raises.",
        caught_by="expected_outcome",
        rows=_CLOSED_TWICE,
    ),
    PlantedBug(
        name="slot_handed_out",
        backend="harness.planted.pool_across_calls:slot_handed_out",
        text="A receive hands out observations that lie in the memory of the ones before.",
        caught_by="ownership",
        rows=frozenset(
            {
                "pool/held_batches[exchange=value,stack=dense]",
                "pool/held_batches_of_threads[stack=dense]",
                "pool/received_across_episodes[transport=thread]",
                "pool/received_across_episodes[transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="equal_seeds",
        backend="harness.planted.pool_across_calls:equal_seeds",
        text="A base seed is given to every env as it is.",
        caught_by="seeds_distinct",
        rows=frozenset(
            {
                "pool/seeded_resets[transport=thread]",
                "pool/seeded_resets[transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="closed_by_its_owner_only",
        backend="harness.planted.pool_across_calls:closed_by_its_owner_only",
        text="Closing raises in any thread but the one that made the pool.",
        caught_by="idempotent_close",
        rows=frozenset(
            {
                "pool/closed_from_another_thread[transport=thread]",
                "pool/closed_from_another_thread[transport=process]",
                "pool/closed_again_from_another_thread[host=bare,transport=thread]",
                "pool/closed_again_from_another_thread[host=bare,transport=process]",
                "pool/closed_again_from_another_thread[host=transformed,transport=thread]",
                "pool/closed_again_from_another_thread[host=transformed,transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="silently_unusable",
        backend="harness.planted.pool_across_calls:silently_unusable",
        text="After the error of one env every step and reset is refused, without saying why.",
        caught_by="usable_after",
        rows=frozenset(
            {
                "pool/reset_after_failing_env[transport=thread]",
                "pool/reset_after_failing_env[transport=process]",
            }
        )
        | BROKEN,
    ),
    PlantedBug(
        name="ready_results_lost",
        backend="harness.planted.pool_across_calls:ready_results_lost",
        text="When a receive raises the error of one env, the results of the others are dropped.",
        caught_by="usable_after",
        rows=frozenset(
            {
                "pool/failing_env_among_results[transport=thread]",
                "pool/failing_env_among_results[transport=process]",
                "pool/results_beside_a_broken_one[]",
            }
        ),
    ),
    PlantedBug(
        name="kill_withheld",
        backend="harness.planted.pool_workers:kill_withheld",
        text="Closing tells workers to end, and kills none: one that is stopped survives.",
        caught_by="no_leaks",
        rows=frozenset({"pool/shutdown_while_a_worker_is_stopped[]"}),
    ),
    PlantedBug(
        name="error_reported_twice",
        backend="harness.planted.pool_workers:error_reported_twice",
        text="The error of an env that a step has raised is raised again by the close.",
        caught_by="failure_attributed",
        rows=_FAILING,
    ),
    PlantedBug(
        name="dead_answered_for",
        backend="harness.planted.pool_workers:dead_answered_for",
        text="The rows of a worker that has died are filled with zeros, and nothing is raised.",
        caught_by="failure_attributed",
        rows=_KILLED | {"pool/worker_exits_at_first_reset[]"},
    ),
    *TRANSFERS,
    *WEIGHTS_BUGS,
    *MEMBERSHIP_BUGS,
    *BEHIND_BUGS,
    *PARAMS,
    *RESTARTS,
    *SWITCHES,
    *LOANS,
    *PAYLOADS,
    *resources_catalogue.PLANTED,
    *EXIT_BUGS,
    *SPEC_BUGS,
    *SLOT_BUGS,
    *SEVERAL,
    *NEIGHBOURS,
    *GYMNASIUM,
    *STORAGE,
    *SAMPLES,
    *DECLARED,
    *MISSING,
)
PLANTED: tuple[PlantedBug, ...] = (
    *(replace(bug, rows=bug.rows | ALSO_SHOWN.get(bug.name, frozenset())) for bug in _PLAIN),
    *PLANTED_ROWS,
)
"""All of them, in the order of their checkers."""

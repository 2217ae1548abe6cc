"""Planted bugs of the pool: what it asks and hands out, and how it comes to be and ends."""

from __future__ import annotations

from functools import partial

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

_pool = partial(rows, "pool")

POOL: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="numbered_from_zero",
        backend="harness.planted.pool_requests:numbered_from_zero",
        text="Rows of a receive are numbered from 0 on, whichever envs answered.",
        caught_by="routing",
        rows=_pool(
            "failing_env_among_results[transport={thread|process}]",
            "partial_receive[stack={dense|lazy},transport={thread|process}]",
            "surplus_receive[transport={thread|process}]",
        ),
    ),
    PlantedBug(
        name="surplus_lost",
        backend="harness.planted.pool_requests:surplus_lost",
        text="What has come beyond the results that a receive asks for is lost.",
        caught_by="routing",
        rows=_pool("surplus_receive[transport={thread|process}]"),
    ),
    PlantedBug(
        name="final_lost_in_receive",
        backend="harness.planted.pool_requests:final_lost_in_receive",
        text="Received steps that end an episode show the first observation of the next one as their last.",
        caught_by="episode_model",
        rows=_pool(
            "held_batches[exchange=value,stack={dense|lazy}]",
            "held_batches_of_threads[stack={dense|lazy}]",
            "received_across_episodes[transport={thread|process}]",
        ),
    ),
    PlantedBug(
        name="third_reset_repeated",
        backend="harness.planted.pool_requests:third_reset_repeated",
        text="The third reset of all envs returns what the second one did.",
        caught_by="episode_model",
        rows=_pool("seeded_resets[transport={thread|process}]"),
    ),
    PlantedBug(
        name="failed_actions_resent",
        backend="harness.planted.pool_requests:failed_actions_resent",
        text="After a step that failed, the next one sends its actions again instead of its own.",
        caught_by="routing",
        rows=_pool("reset_after_failing_env[transport={thread|process}]"),
    ),
    PlantedBug(
        name="swapped_after_a_mask",
        backend="harness.planted.pool_requests:swapped_after_a_mask",
        text="The first step after a partial reset sends two envs what is meant for the other.",
        caught_by="routing",
        rows=_pool("partial_reset[host=bare,transport={thread|process}]"),
    ),
    PlantedBug(
        name="later_sends_swapped",
        backend="harness.planted.pool_requests:later_sends_swapped",
        text="All sends but the first give two envs what is meant for the other.",
        caught_by="routing",
        rows=_pool(
            "received_across_episodes[transport={thread|process}]",
            "held_batches_of_threads[stack={dense|lazy}]",
            "held_batches[exchange=value,stack={dense|lazy}]",
            "surplus_receive[transport={thread|process}]",
        ),
    ),
    PlantedBug(
        name="mask_ignored",
        backend="harness.planted.pool_requests:mask_ignored",
        text="A reset with a mask resets nobody.",
        caught_by="reset_mask",
        rows=_pool("partial_reset[host=bare,transport={thread|process}]"),
    ),
    PlantedBug(
        name="mask_rotated",
        backend="harness.planted.pool_requests:mask_rotated",
        text="A reset with a mask resets the envs after those that it names.",
        caught_by="reset_mask",
        rows=_pool("partial_reset[host=bare,transport={thread|process}]"),
    ),
    PlantedBug(
        name="mask_cleared",
        backend="harness.planted.pool_requests:mask_cleared",
        text="A reset clears the caller's mask.",
        caught_by="reset_mask",
        rows=_pool("partial_reset[host=bare,transport={thread|process}]"),
    ),
    PlantedBug(
        name="mask_first_only",
        backend="harness.planted.pool_requests:mask_first_only",
        text="Of several envs that a mask names, only the first is reset.",
        caught_by="reset_mask",
        rows=_pool("partial_reset[host={bare|transformed},transport={thread|process}]"),
    ),
    PlantedBug(
        name="seeds_ignored",
        backend="harness.planted.pool_requests:seeds_ignored",
        text="Seeding does nothing.",
        caught_by="seeds_distinct",
        rows=_pool("seeded_resets[transport={thread|process}]"),
    ),
    PlantedBug(
        name="neighbouring_seeds",
        backend="harness.planted.pool_requests:neighbouring_seeds",
        text="Env i is seeded with the base seed plus i, so that neighbouring base seeds share streams.",
        caught_by="seeds_distinct",
        rows=_pool("seeded_resets[transport={thread|process}]"),
    ),
    PlantedBug(
        name="error_raised_again",
        backend="harness.planted.pool_requests:error_raised_again",
        text="The error of an env that a step has raised is raised again by the next reset.",
        caught_by="usable_after",
        rows=_pool("reset_after_failing_env[transport={thread|process}]"),
    ),
    PlantedBug(
        name="reset_cause_lost",
        backend="harness.planted.pool_requests:reset_cause_lost",
        text="Whatever goes wrong in a reset is replaced by a bare RuntimeError.",
        caught_by="failure_attributed",
        rows=_pool(
            "env_fails_at_first_reset[transport={thread|process}]", "worker_exits_at_first_reset[]"
        ),
    ),
    PlantedBug(
        name="receive_cause_lost",
        backend="harness.planted.pool_requests:receive_cause_lost",
        text="Whatever a receive has to report is replaced by a bare RuntimeError.",
        caught_by="failure_attributed",
        rows=_pool("failing_env_among_results[transport={thread|process}]"),
    ),
    PlantedBug(
        name="construction_unbounded",
        backend="harness.planted.pool_lifetimes:construction_unbounded",
        text="Making a pool waits for its envs for as long as it takes.",
        caught_by="bounded_calls",
        rows=_pool("env_hangs_at_construction[]"),
    ),
    PlantedBug(
        name="construction_cause_lost",
        backend="harness.planted.pool_lifetimes:construction_cause_lost",
        text="Why a pool could not be made is not told.",
        caught_by="failure_attributed",
        rows=_pool(
            "env_fails_at_construction[transport={thread|process}]",
            "worker_exits_at_construction[]",
        ),
    ),
    PlantedBug(
        name="construction_abandoned",
        backend="harness.planted.pool_lifetimes:construction_abandoned",
        text="When an env cannot be made, the workers of the others are left running.",
        caught_by="no_leaks",
        rows=_pool(
            "env_fails_at_construction[transport={thread|process}]",
            "env_hangs_at_construction[]",
            "worker_exits_at_construction[]",
        ),
    ),
    PlantedBug(
        name="close_waits",
        backend="harness.planted.pool_lifetimes:close_waits",
        text="Closing asks workers to end and waits, and tells them nothing more.",
        caught_by="bounded_shutdown",
        rows=_pool(
            "env_hangs_at_close[]",
            "shutdown_while_a_thread_hangs[]",
            "shutdown_while_a_neighbour_hangs[exchange=value]",
            "shutdown_while_a_worker_hangs[]",
            "shutdown_while_a_worker_is_stopped[]",
        ),
    ),
    PlantedBug(
        name="finalizer_lost",
        backend="harness.planted.pool_lifetimes:finalizer_lost",
        text="A pool that is dropped without being closed leaves its workers running.",
        caught_by="no_leaks",
        rows=_pool(
            "collected_during_receive[transport=process]",
            "collected_in_a_cycle[transport={thread|process}]",
            "collected_with_closed_readers[transport=process]",
        ),
    ),
    PlantedBug(
        name="close_refused_in_flight",
        backend="harness.planted.pool_lifetimes:close_refused_in_flight",
        text="Closing raises while something was sent that is not received.",
        caught_by="expected_outcome",
        rows=_pool(
            "closed_from_another_thread[transport={thread|process}]",
            "shutdown_while_a_thread_hangs[]",
            "shutdown_while_a_worker_hangs[]",
            "shutdown_while_a_worker_is_stopped[]",
            "shutdown_with_results_unread[transport={thread|process}]",
            "shutdown_with_steps_in_flight[transport={thread|process}]",
            "worker_killed_with_results_unread[]",
        ),
    ),
    PlantedBug(
        name="exit_code_raised",
        backend="harness.planted.pool_lifetimes:exit_code_raised",
        text="Closing raises when a worker had to be ended, or has ended with an exit code.",
        caught_by="expected_outcome",
        rows=_pool(
            "env_exits_in_a_step[transport=process]",
            "env_fails_at_close[]",
            "env_hangs_at_close[]",
            "killed_worker[exchange=value]",
            "killed_worker_noticed_at_once[]",
            "shutdown_while_a_worker_hangs[]",
            "shutdown_while_a_worker_is_stopped[]",
            "worker_exits_at_close[]",
            "worker_exits_at_first_reset[]",
            "worker_killed_with_results_unread[]",
            "worker_terminated_in_a_step[]",
        ),
    ),
    PlantedBug(
        name="close_needs_a_reset",
        backend="harness.planted.pool_lifetimes:close_needs_a_reset",
        text="Closing a pool that was never reset raises.",
        caught_by="expected_outcome",
        rows=_pool("shutdown_before_the_first_reset[transport={thread|process}]"),
    ),
    PlantedBug(
        name="channels_used_at_close",
        backend="harness.planted.pool_lifetimes:channels_used_at_close",
        text="Closing a pool whose channels are closed already raises.",
        caught_by="expected_outcome",
        rows=_pool(
            "publicly_closed_result_channel[transport={thread|process}]",
            "closed_result_channel[transport=process]",
        ),
    ),
    PlantedBug(
        name="death_noticed_late",
        backend="harness.planted.pool_lifetimes:death_noticed_late",
        text="A step reports that a worker died two seconds after it did.",
        caught_by="bounded_calls",
        rows=_pool("killed_worker_noticed_at_once[]"),
    ),
    PlantedBug(
        name="another_blamed",
        backend="harness.planted.pool_lifetimes:another_blamed",
        text="A step that a worker made fail blames the worker after it.",
        caught_by="failure_attributed",
        rows=_pool(
            "env_exits_in_a_step[transport={thread|process}]",
            "failing_env[transport={thread|process}]",
            "killed_worker[exchange=value]",
            "killed_worker_noticed_at_once[]",
            "reset_after_failing_env[transport={thread|process}]",
            "worker_terminated_in_a_step[]",
        ),
    ),
)

"""Planted bugs in what the reference does with memory, processors and files."""

from __future__ import annotations

from harness.model.planted import PlantedBug

_SLOW = frozenset(
    {
        "pool/idle_in_a_receive[transport=thread]",
        "pool/idle_in_a_receive[transport=process]",
        "pool/idle_while_an_env_is_slow[transport=thread]",
        "pool/idle_while_an_env_is_slow[transport=process]",
    }
)
_STEPPED = frozenset(
    {
        "pool/stepped_many_times[transport=thread]",
        "pool/stepped_many_times[transport=process]",
    }
)

PLANTED: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="polling_receive",
        backend="harness.planted.pool_resources:polling_receive",
        text="Whoever waits for replies looks for them again and again, without sleeping.",
        caught_by="idle_when_blocked",
        rows=_SLOW,
    ),
    PlantedBug(
        name="spinning_worker",
        backend="harness.planted.pool_resources:spinning_worker",
        text="A worker that has nothing to do looks at its channel again and again.",
        caught_by="idle_when_blocked",
        rows=_SLOW
        | {
            "pool/idle_with_nothing_to_do[transport=thread]",
            "pool/idle_with_nothing_to_do[transport=process]",
        },
    ),
    PlantedBug(
        name="sends_kept",
        backend="harness.planted.pool_resources:sends_kept",
        text="What is sent to a busy env is kept for later, however much it is.",
        caught_by="bounded_memory",
        rows=frozenset(
            {
                "pool/sent_without_receiving[transport=thread]",
                "pool/sent_without_receiving[transport=process]",
                "pool/sent_without_end[transport=thread]",
                "pool/sent_without_end[transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="results_kept",
        backend="harness.planted.pool_resources:results_kept",
        text="The pool keeps every result that it has handed out.",
        caught_by="bounded_memory",
        rows=_STEPPED,
    ),
    PlantedBug(
        name="mapping_per_step",
        backend="harness.planted.pool_resources:mapping_per_step",
        text="Every step makes a mapping that the pool keeps.",
        caught_by="bounded_memory",
        rows=_STEPPED,
    ),
    PlantedBug(
        name="buffer_per_pool",
        backend="harness.planted.pool_resources:buffer_per_pool",
        text="Every pool makes a buffer that nobody gives back.",
        caught_by="bounded_memory",
        rows=frozenset(
            {
                "pool/rebuilt_many_times[transport=thread]",
                "pool/rebuilt_many_times[transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="file_left",
        backend="harness.planted.pool_resources:file_left",
        text="Closing from another thread leaves a temporary file.",
        caught_by="no_leaks",
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
        name="half_built_left",
        backend="harness.planted.pool_resources:half_built_left",
        text="If not all workers can be started, those that were are left.",
        caught_by="no_leaks",
        rows=frozenset(
            {
                "pool/env_fails_at_construction[transport=thread]",
                "pool/env_fails_at_construction[transport=process]",
                "pool/env_hangs_at_construction[]",
                "pool/worker_exits_at_construction[]",
                "pool/no_address_space_at_construction[]",
                "pool/no_descriptors_at_construction[]",
            }
        ),
    ),
    PlantedBug(
        name="zeros_without_room",
        backend="harness.planted.pool_resources:zeros_without_room",
        text="A step that finds no room in shared memory returns zeros.",
        caught_by="episode_model",
        rows=frozenset(
            {
                "pool/full_shared_memory_at_construction[exchange=value]",
                "pool/full_shared_memory_between_steps[exchange=value]",
            }
        ),
    ),
    PlantedBug(
        name="one_for_all",
        backend="harness.planted.pool_resources:one_for_all",
        text="With one processor, the observation of the first env is returned for all of them.",
        caught_by="routing",
        rows=frozenset(
            {
                "pool/one_processor_for_all[transport=thread]",
                "pool/one_processor_for_all[transport=process]",
            }
        ),
    ),
)

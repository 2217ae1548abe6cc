"""Bugs of the replay storage: what is wrong, who has to catch it, and where."""

from __future__ import annotations

import itertools

from harness.model.planted import PlantedBug


def _rows(name: str, *keys: str, **values: tuple[str, ...]) -> frozenset[str]:
    """Rows of one scenario: by their keys, or all combinations of these values."""
    of_values = (
        ",".join(f"{key}={value}" for key, value in zip(values, each, strict=True))
        for each in itertools.product(*values.values())
    )
    found = keys or tuple(of_values)
    return frozenset(f"storage/{name}[{key}]" for key in found)


_MEDIA = ("memory", "disk")
_WRITERS = ("process", "driver")

STORAGE: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="length_before_write",
        backend="harness.planted.storage:length_before_write",
        text="A storage counts rows as soon as their place is claimed.",
        caught_by="rows_whole",
        rows=_rows("crashed_before_its_commit", "")
        | _rows("crashed_in_a_row", "")
        | _rows("dumped_while_a_writer_is_held", medium=_MEDIA)
        | _rows("first_rows_of_two_writers", medium=_MEDIA)
        | _rows("last_writer_killed", medium=_MEDIA)
        | _rows(
            "writer_held_in_a_row",
            medium=_MEDIA,
            rows=(
                "nested",
                "plain",
            ),
        )
        | _rows("writer_killed_at_its_claim", medium=_MEDIA)
        | _rows("writer_killed_before_its_commit", medium=_MEDIA)
        | _rows("writer_killed_in_a_row", medium=_MEDIA)
        | _rows("writer_stopped_at_its_claim", medium=_MEDIA)
        | _rows("writer_stopped_in_a_row", medium=_MEDIA),
    ),
    PlantedBug(
        name="no_commit_mark",
        backend="harness.planted.storage:no_commit_mark",
        text="Whatever is behind the cursor is taken for a row: no mark says that it was written.",
        caught_by="rows_whole",
        rows=_rows("crashed_in_a_row", "")
        | _rows("dumped_while_a_writer_is_held", medium=_MEDIA)
        | _rows("first_rows_of_two_writers", medium=_MEDIA)
        | _rows("last_writer_killed", medium=_MEDIA)
        | _rows(
            "writer_held_in_a_row",
            medium=_MEDIA,
            rows=(
                "nested",
                "plain",
            ),
        )
        | _rows("writer_killed_at_its_claim", medium=_MEDIA)
        | _rows("writer_killed_in_a_row", medium=_MEDIA)
        | _rows("writer_stopped_at_its_claim", medium=_MEDIA)
        | _rows("writer_stopped_in_a_row", medium=_MEDIA),
    ),
    PlantedBug(
        name="two_on_one_claim",
        backend="harness.planted.storage:two_on_one_claim",
        text="A place is taken once it is written: until then another writer is given it, too.",
        caught_by="no_loss_no_dup",
        rows=_rows("batch_larger_than_the_ring", "capacity=6", "capacity=7")
        | _rows("first_rows_of_two_writers", medium=_MEDIA)
        | _rows("four_writers_at_once", medium=_MEDIA)
        | _rows("two_writers_held_at_once", medium=_MEDIA)
        | _rows("writer_stopped_at_its_claim", medium=_MEDIA)
        | _rows("writer_stopped_in_a_row", medium=_MEDIA),
    ),
    PlantedBug(
        name="slice_across_the_cursor",
        backend="harness.planted.storage:slice_across_the_cursor",
        text="Samplers are not told where the newest row is, and go over it to the oldest.",
        caught_by="trajectories_contiguous",
        rows=_rows(
            "slices_at_the_cursor",
            capacity=(
                "11",
                "16",
            ),
            writers=_WRITERS,
        )
        | _rows("slices_of_several_envs", writers=_WRITERS),
    ),
    PlantedBug(
        name="dead_claim_blocks",
        backend="harness.planted.storage:dead_claim_blocks",
        text="What a dead writer had claimed stays claimed: who comes round to it waits, and gives up.",
        caught_by="expected_outcome",
        rows=_rows("crashed_before_its_commit", "")
        | _rows("crashed_in_a_row", "")
        | _rows("last_writer_killed", medium=_MEDIA)
        | _rows("ring_comes_round_to_a_dead_writer", medium=_MEDIA)
        | _rows("writer_killed_at_its_claim", medium=_MEDIA)
        | _rows("writer_killed_before_its_commit", medium=_MEDIA)
        | _rows("writer_killed_in_a_row", medium=_MEDIA),
    ),
    PlantedBug(
        name="torn_tail_accepted",
        backend="harness.planted.storage:torn_tail_accepted",
        text="On disk what dead writers had claimed is taken for written.",
        caught_by="rows_whole",
        rows=_rows("crashed_in_a_row", "")
        | _rows("writer_killed_at_its_claim", "medium=disk")
        | _rows("writer_killed_in_a_row", "medium=disk"),
    ),
    PlantedBug(
        name="one_env_a_row",
        backend="harness.planted.storage:one_env_a_row",
        text="Rows are laid out as if each were of one env.",
        caught_by="layout",
        rows=_rows(
            "rows_of_several_envs",
            width=(
                "2",
                "3",
            ),
            writers=_WRITERS,
        ),
    ),
    PlantedBug(
        name="prefetched_lost",
        backend="harness.planted.storage:prefetched_lost",
        text="Every third of the samples that were drawn ahead is dropped.",
        caught_by="no_loss_no_dup",
        rows=_rows("prefetched_samples", "prefetch=1", "prefetch=3"),
    ),
    PlantedBug(
        name="batch_backwards",
        backend="harness.planted.storage:batch_backwards",
        text="A batch that goes over the end of the ring is written from its last row on.",
        caught_by="layout",
        rows=_rows("clean_writes", medium=_MEDIA, writers=_WRITERS)
        | _rows(
            "wrapped_at_every_cursor",
            capacity=(
                "11",
                "13",
                "5",
                "7",
            ),
            writers=_WRITERS,
        ),
    ),
    PlantedBug(
        name="oldest_not_loaded",
        backend="harness.planted.storage:oldest_not_loaded",
        text="The row in the last slot is not loaded.",
        caught_by="no_loss_no_dup",
        rows=_rows("dumped_and_loaded", medium=_MEDIA, writers=_WRITERS),
    ),
    PlantedBug(
        name="rows_kept_when_emptied",
        backend="harness.planted.storage_lives:rows_kept_when_emptied",
        text="Emptying drops nothing.",
        caught_by="no_loss_no_dup",
        rows=_rows("emptied_and_reopened", "")
        | _rows("emptied_between_writes", medium=_MEDIA, writers=_WRITERS),
    ),
    PlantedBug(
        name="trajectories_joined",
        backend="harness.planted.storage_lives:trajectories_joined",
        text="Samplers are told that all rows are of one trajectory.",
        caught_by="trajectories_contiguous",
        rows=_rows(
            "slices_of_short_trajectories",
            capacity=(
                "17",
                "23",
            ),
            writers=_WRITERS,
        )
        | _rows("slices_of_two_writers", medium=_MEDIA),
    ),
    PlantedBug(
        name="reopened_at_its_beginning",
        backend="harness.planted.storage_lives:reopened_at_its_beginning",
        text="Who opens a storage again goes on at its first slot.",
        caught_by="no_loss_no_dup",
        rows=_rows("reopened_after_a_crash", "") | _rows("reopened_after_close", writers=_WRITERS),
    ),
    PlantedBug(
        name="reader_takes_its_lock_along",
        backend="harness.planted.storage_lives:reader_takes_its_lock_along",
        text="A reader that is killed takes the lock along that writers wait for.",
        caught_by="bounded_calls",
        rows=_rows("reader_killed_while_it_reads", medium=_MEDIA),
    ),
    PlantedBug(
        name="anything_taken",
        backend="harness.planted.storage_lives:anything_taken",
        text="Of a batch that does not fit what does is stored, with zeros for the rest.",
        caught_by="rows_whole",
        rows=_rows("rows_of_another_shape", writers=_WRITERS)
        | _rows("rows_of_another_type", writers=_WRITERS)
        | _rows("rows_with_a_missing_key", writers=_WRITERS),
    ),
    PlantedBug(
        name="epochs_skip_rows",
        backend="harness.planted.storage_lives:epochs_skip_rows",
        text="Rows that were drawn together with a slot that a dead writer lost are left out of their epoch.",
        caught_by="no_loss_no_dup",
        rows=_rows("epochs_over_lost_rows", medium=_MEDIA),
    ),
)
"""In the order of their scenarios."""

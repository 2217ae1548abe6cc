"""The planted bugs about items on their way, and rows about such items that show others too."""

from __future__ import annotations

from harness.model.planted import PlantedBug

BROKEN = frozenset(
    {
        "pool/command_that_cannot_be_rebuilt[]",
        "pool/command_that_is_truncated[]",
        "pool/result_that_cannot_be_rebuilt[]",
        "pool/result_that_cannot_be_received[transport=process]",
        "pool/result_that_cannot_be_received[transport=thread]",
        "pool/result_that_cannot_be_sent[transport=process]",
        "pool/result_that_cannot_be_sent[transport=thread]",
        "pool/result_that_is_truncated[]",
    }
)
CUT_OFF = frozenset(
    {
        "pool/channel_closed_by_its_worker[]",
        "pool/worker_killed_while_it_sends[start_method=fork]",
    }
)
LOST = frozenset(
    {
        "pool/result_lost_on_the_way[transport=process]",
        "pool/result_lost_on_the_way[transport=thread]",
        "pool/results_beside_a_lost_one[transport=process]",
        "pool/results_beside_a_lost_one[transport=thread]",
    }
)
LOST_COMMANDS = frozenset(
    {
        "pool/command_lost_on_the_way[transport=process]",
        "pool/command_lost_on_the_way[transport=thread]",
    }
)
REPEATED = frozenset(
    {
        "pool/result_delivered_twice[transport=thread]",
        "pool/result_delivered_twice[transport=process]",
    }
)
FULL = frozenset(
    {
        "pool/channel_full_while_a_result_is_broken[]",
        "pool/shutdown_while_a_channel_is_full[]",
    }
)

TRANSFERS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="repetition_taken",
        backend="harness.planted.transfers:repetition_taken",
        text="Replies are matched by their order: one that comes twice is taken for the answer of the next "
        "request.",
        caught_by="routing",
        rows=REPEATED,
    ),
    PlantedBug(
        name="repetition_carried_out",
        backend="harness.planted.transfers:repetition_carried_out",
        text="A worker carries out a command again that comes to it twice.",
        caught_by="routing",
        rows=frozenset(
            {
                "pool/command_delivered_twice[transport=thread]",
                "pool/command_delivered_twice[transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="reading_ends",
        backend="harness.planted.transfers:reading_ends",
        text="After an item that cannot be rebuilt nothing is read any more.",
        caught_by="usable_after",
        rows=(BROKEN | {"pool/results_beside_a_broken_one[]"})
        - {
            # The item that could not be sent is answered by one that can be read.
            "pool/result_that_cannot_be_sent[transport=process]",
            "pool/result_that_cannot_be_sent[transport=thread]",
        },
    ),
    PlantedBug(
        name="full_channel_waited_for",
        backend="harness.planted.transfers:full_channel_waited_for",
        text="Closing waits until the channel of each worker has taken the command to end.",
        caught_by="bounded_shutdown",
        rows=FULL,
    ),
    PlantedBug(
        name="torn_item_waited_for",
        backend="harness.planted.transfers:torn_item_waited_for",
        text="The rest of a half-written item is waited for, although its writer is dead.",
        caught_by="bounded_calls",
        rows=frozenset({"pool/worker_killed_while_it_sends[start_method=fork]"}),
    ),
)

"""Planted bugs about items of workers that have several envs."""

from __future__ import annotations

from functools import partial

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

_pool = partial(rows, "pool")
_EITHER = "[transport={thread|process}]"

NEIGHBOURS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="neighbours_carry_out_again",
        backend="harness.planted.neighbours:neighbours_carry_out_again",
        text="A worker of several envs carries out a command again that comes to it twice.",
        caught_by="routing",
        rows=_pool(f"command_of_a_neighbour_delivered_twice{_EITHER}"),
    ),
    PlantedBug(
        name="neighbours_share_a_number",
        backend="harness.planted.neighbours:neighbours_share_a_number",
        text="A worker takes a command for a repetition that is older than what it was told for another env.",
        caught_by="bounded_calls",
        rows=_pool(f"commands_of_neighbours_out_of_order{_EITHER}"),
    ),
    PlantedBug(
        name="neighbours_by_turns",
        backend="harness.planted.neighbours:neighbours_by_turns",
        text="What a worker says is taken for the answer to what it was asked first, whichever env says it.",
        caught_by="routing",
        rows=_pool(f"result_of_a_neighbour_delivered_twice{_EITHER}"),
    ),
    PlantedBug(
        name="last_answers_for_all",
        backend="harness.planted.neighbours:last_answers_for_all",
        text="The answer of a worker's last env is taken for that of those before it which have not come.",
        caught_by="routing",
        rows=_pool(f"{{command|result}}_of_a_neighbour_lost{_EITHER}"),
    ),
    PlantedBug(
        name="first_blamed",
        backend="harness.planted.neighbours:first_blamed",
        text="An item of a worker that cannot be rebuilt fails its first env, whichever env's it was.",
        caught_by="bounded_calls",
        rows=_pool("{command|result}_of_a_neighbour_truncated[]"),
    ),
    PlantedBug(
        name="neighbours_given_up",
        backend="harness.planted.neighbours:neighbours_given_up",
        text="A receive gives up before its timeout, on answers that are on their way.",
        caught_by="expected_outcome",
        rows=_pool(f"result_of_a_neighbour_delayed{_EITHER}"),
    ),
)

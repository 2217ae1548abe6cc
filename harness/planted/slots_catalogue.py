"""The planted bugs of `slots.py`, with the rows that they turn red."""

from __future__ import annotations

from harness.model.planted import PlantedBug
from harness.planted.rows import rows

_FLAT = (
    "ends_by_turns[exchange=slots]",
    "no_descriptors_in_steps[exchange=slots]",
    "observations_of_any_form_in_slots[payload={scalar|image|huge|special}]",
    "reward_of_one_element[exchange=slots]",
    "slots_clean_run[exchange={slots|auto}]",
)
_HELD = "held_batches[exchange=slots,stack=dense]"
_LAZILY_HELD = "held_batches[exchange=slots,stack=lazy]"
_CHILDREN = "children_of_several_envs_in_slots[payload={batched|grouped}]"
_NESTED = "observations_of_any_form_in_slots[payload=nested]"
_KILLED = "killed_worker[exchange=slots]"
_UNFIT = "reply_that_fits_no_slot[]"
_STALE = "reply_that_leaves_a_slot_stale[]"
_MASKED = (
    "slots_masked_private_resets_as_specified[exchange={slots|auto}]",
    "slots_masked_resets_as_specified[exchange={slots|auto},host={bare|transformed}]",
)


def _bug(name: str, caught_by: str, shown_in: tuple[str, ...], text: str) -> PlantedBug:
    return PlantedBug(
        name=name,
        backend=f"harness.planted.slots:{name}",
        text=text,
        caught_by=caught_by,
        rows=rows("pool", *shown_in),
    )


SLOT_BUGS: tuple[PlantedBug, ...] = (
    _bug(
        "columns_handed_out",
        "ownership",
        (*_FLAT, _HELD, _KILLED, _UNFIT),
        "A batch is the shared memory itself, and changes with the next step.",
    ),
    _bug(
        "row_of_the_step_before",
        "routing",
        (*_FLAT, _HELD, _UNFIT),
        "The row of the last env is read before it is written: it is that of the step before.",
    ),
    _bug(
        "reward_of_the_next_env",
        "episode_model",
        (*_FLAT, _HELD, _KILLED, _UNFIT),
        "The rewards lie one slot off.",
    ),
    _bug(
        "extras_below_next",
        "spec_conformance",
        ("slots_extras_come_back_in_the_root[exchange={slots|auto},extras=tensors]",),
        "What the caller's data holds beside the specs is merged into what lies in the slots.",
    ),
    _bug(
        "roots_of_all_envs",
        "routing",
        (*_FLAT, _HELD),
        "When one env begins an episode, the others are shown what lay in their roots before.",
    ),
    _bug(
        "rung_early",
        "routing",
        (*_FLAT, _HELD, _LAZILY_HELD, _CHILDREN, _NESTED),
        "A worker rings before it has written the row.",
    ),
    _bug(
        "entries_forgotten",
        "expected_outcome",
        (_STALE,),
        "An answer that lacks an entry counts as whole, and shows what lay in the slot.",
    ),
    _bug(
        "unfit_left_out",
        "expected_outcome",
        (_UNFIT,),
        "An answer that does not fit its slot counts as given, and the slot is shown as it was.",
    ),
    _bug(
        "slots_counted",
        "expected_outcome",
        (
            *_MASKED,
            "slots_extras_are_received_in_the_root[exchange={slots|auto},extras={tensors|objects}]",
            "slots_received_as_specified[exchange={slots|auto},stack={dense|lazy}]",
        ),
        "The slots are read from the first one on, whoever has answered.",
    ),
    _bug(
        "subsets_counted",
        "spec_conformance",
        ("slots_received_as_specified[exchange={slots|auto},stack=dense]",),
        "Of steps of some envs the columns are read from the first row on, whoever has answered.",
    ),
    _bug(
        "given_back_turned",
        "spec_conformance",
        ("slots_received_as_specified[exchange={slots|auto},stack=dense]",),
        "What was sent along with steps of some envs is returned with those of other envs.",
    ),
    _bug(
        "deaf_to_ends",
        "bounded_calls",
        (_KILLED, _UNFIT),
        "Who waits for a slot hears its bell, and neither failures nor the end of its worker.",
    ),
    _bug(
        "batches_kept",
        "bounded_memory",
        ("slots_stepped_many_times[]",),
        "The pool keeps what it has handed out.",
    ),
    _bug(
        "numbers_through_floats",
        "episode_model",
        ("observations_of_any_form_in_slots[payload=scalar]", _NESTED, _STALE),
        "Numbers pass through floats on their way into a slot.",
    ),
    _bug(
        "half_of_an_entry",
        "episode_model",
        (
            *_FLAT[:2],
            "observations_of_any_form_in_slots[payload={image|huge|special}]",
            *_FLAT[3:],
            *(_HELD, _LAZILY_HELD, _CHILDREN, _NESTED, _KILLED, _UNFIT, _STALE),
        ),
        "Only half of an entry is written into its slot.",
    ),
)

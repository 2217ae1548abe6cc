"""Planted bugs of weight sync: what is wrong, who has to catch it, and where."""

from __future__ import annotations

from harness.model.planted import PlantedBug

_WORKERS = "harness.planted.weights_workers"
_SENDERS = "harness.planted.weights_senders"
_LIVES = "harness.planted.weights_lives"
_COPY = ("scheme=copy",)
_BOTH = ("scheme=copy,transport=thread", "scheme=copy,transport=process")
_SCHEMES = (*_COPY, "scheme=shared")
_PROCESSES = ("scheme=copy,transport=process", "scheme=shared,transport=process")
_ALL = (*_BOTH, "scheme=shared,transport=thread", "scheme=shared,transport=process")


def _rows(*names: str, keys: tuple[str, ...] = _COPY) -> frozenset[str]:
    return frozenset(f"weights/{name}[{key}]" for name in names for key in keys)


_DURING_FORWARD = _rows(
    "sent_fresh_during_forward",
    "sent_in_place_during_forward",
    "threads_sent_during_forward",
    keys=_SCHEMES,
)
_FORWARD_DURING = _rows("forward_during_half_an_apply", keys=_ALL)
_MUTATED_BETWEEN = _rows("trainer_mutates_between_sends", keys=_ALL)
_MUTATED_DURING = _rows("trainer_mutates_during_send", keys=_ALL)
_REFUSED = _rows(
    "update_of_wrong_shape",
    "update_of_wrong_key",
    "update_of_unknown_keys",
    "update_of_wrong_dtype",
    "update_with_a_tensor_too_many",
    keys=_SCHEMES,
)
_REFUSED_AMONG = _rows("refused_update_among_sound_ones", keys=_BOTH)
_HALF_APPLIED = _rows("apply_fails_half_way", "apply_fails_in_every_worker", keys=_ALL)
_APPLY_FAILS = _HALF_APPLIED | _rows("apply_fails_before_it_begins", keys=_BOTH)
_LATE = _rows("ack_lost", "instruction_lost", "apply_that_does_not_come_back", keys=_BOTH) | _rows(
    "worker_frozen_before_a_send", "worker_stopped_before_an_apply", "worker_stopped_before_its_ack"
)
_KILLED = _rows(
    "worker_killed_before_an_apply",
    "worker_killed_half_way",
    "worker_killed_before_its_ack",
    "worker_killed_before_a_send",
    "worker_killed_in_a_forward",
    "worker_exits_in_an_apply",
    "killed_worker_told_by_the_send",
    "ack_of_a_killed_worker",
    "ack_channel_cut",
)
_UNREADABLE = _rows("instruction_not_rebuilt", "instruction_cut_in_half")
_BROKEN_ACKS = _rows("ack_not_rebuilt", "ack_cut_in_half", "ack_not_sent")
_FACTORIES = _rows("factory_fails_in_a_worker", keys=_BOTH) | _rows("factory_kills_its_worker")
_TWICE = _rows("ack_twice", "instruction_twice", keys=_BOTH)

WEIGHTS_BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="applied_without_lock",
        backend=f"{_WORKERS}:applied_without_lock",
        text="Weights are applied in place, tensor by tensor, without the lock that a forward holds.",
        caught_by="no_torn_forward",
        rows=_DURING_FORWARD | _FORWARD_DURING | _rows("free_running_updates", keys=_BOTH),
    ),
    PlantedBug(
        name="forward_without_lock",
        backend=f"{_WORKERS}:forward_without_lock",
        text="A forward does not hold the lock under which weights are applied.",
        caught_by="no_torn_forward",
        rows=_DURING_FORWARD | _FORWARD_DURING,
    ),
    PlantedBug(
        name="applied_twice",
        backend=f"{_WORKERS}:applied_twice",
        text="Weights are applied twice, once without the lock.",
        caught_by="no_torn_forward",
        rows=_DURING_FORWARD,
    ),
    PlantedBug(
        name="half_applied_kept",
        backend=f"{_WORKERS}:half_applied_kept",
        text="What an apply that raised has done until then is left in the model.",
        caught_by="no_torn_forward",
        rows=_HALF_APPLIED,
    ),
    PlantedBug(
        name="tensors_aliased",
        backend=f"{_WORKERS}:tensors_aliased",
        text="Workers see the trainer's own tensors through shared memory.",
        caught_by="weights_isolated",
        rows=_rows("trainer_mutates_during_forward", keys=_SCHEMES)
        | _MUTATED_BETWEEN
        | _MUTATED_DURING,
    ),
    PlantedBug(
        name="aliased_at_first",
        backend=f"{_WORKERS}:aliased_at_first",
        text="What workers get at first are the trainer's own tensors.",
        caught_by="weights_isolated",
        rows=_rows("trainer_mutates_during_forward", keys=_SCHEMES) | _MUTATED_BETWEEN,
    ),
    PlantedBug(
        name="aliased_by_updates",
        backend=f"{_WORKERS}:aliased_by_updates",
        text="An update hands the trainer's own tensors to the workers.",
        caught_by="weights_isolated",
        rows=_MUTATED_BETWEEN | _MUTATED_DURING,
    ),
    PlantedBug(
        name="stale_after_cast",
        backend=f"{_WORKERS}:stale_after_cast",
        text="A worker acts with a copy of the model that a cast has made, and updates reach the original.",
        caught_by="weights_fresh",
        rows=_rows("clean_updates", "threads_clean_updates")
        | _rows("one_worker_alone", "many_workers", "instruction_late", "ack_late", keys=_BOTH),
    ),
    PlantedBug(
        name="version_counts_calls",
        backend=f"{_WORKERS}:version_counts_calls",
        text="The version that a worker says it acted on counts its calls.",
        caught_by="weights_fresh",
        rows=_rows("clean_updates", "threads_clean_updates"),
    ),
    PlantedBug(
        name="every_eighth_lost",
        backend=f"{_WORKERS}:every_eighth_lost",
        text="Every eighth update is acknowledged and lost.",
        caught_by="weights_fresh",
        rows=_rows("sent_many_times", keys=_BOTH),
    ),
    PlantedBug(
        name="known_weights_skipped",
        backend=f"{_WORKERS}:known_weights_skipped",
        text="Weights that a worker has had before are taken for those that it has.",
        caught_by="weights_fresh",
        rows=_rows("sent_again"),
    ),
    PlantedBug(
        name="acked_before_applied",
        backend=f"{_WORKERS}:acked_before_applied",
        text="A worker acknowledges what it is about to apply.",
        caught_by="failure_attributed",
        rows=_rows("worker_killed_before_its_ack", "worker_exits_in_an_apply"),
    ),
    PlantedBug(
        name="acked_without_update",
        backend=f"{_WORKERS}:acked_without_update",
        text="Whatever a worker cannot read it takes for an update, and acknowledges it.",
        caught_by="weights_fresh",
        rows=_UNREADABLE,
    ),
    PlantedBug(
        name="failure_acked",
        backend=f"{_WORKERS}:failure_acked",
        text="A worker that could not apply an update acknowledges it as if it had.",
        caught_by="acks_aligned",
        rows=_REFUSED | _REFUSED_AMONG,
    ),
    PlantedBug(
        name="ack_without_id",
        backend=f"{_SENDERS}:ack_without_id",
        text="Acks carry neither id nor version, so that one that an earlier send left behind answers the next.",
        caught_by="acks_aligned",
        rows=_REFUSED | _REFUSED_AMONG | _TWICE,
    ),
    PlantedBug(
        name="subset_ignored",
        backend=f"{_SENDERS}:subset_ignored",
        text="A send to some of the workers goes to all.",
        caught_by="weights_fresh",
        rows=_rows("sent_to_some_during_forward", keys=_SCHEMES)
        | _rows("others_sent_to_while_one_is_frozen", keys=("scheme=shared",))
        | _rows("sent_to_some_workers", "many_workers", keys=_ALL),
    ),
    PlantedBug(
        name="anybody_accepted",
        backend=f"{_SENDERS}:anybody_accepted",
        text="Workers that do not exist are left out of a send, and nobody is told.",
        caught_by="setup_order",
        rows=_rows("nobody_named_refused", "unknown_worker_refused", "worker_named_twice_refused"),
    ),
    PlantedBug(
        name="sent_before_connected",
        backend=f"{_SENDERS}:sent_before_connected",
        text="A send by a scheme that is not set up, or not connected, returns as if it had reached anybody.",
        caught_by="setup_order",
        rows=_rows("send_before_connect_refused", "send_before_setup_refused"),
    ),
    PlantedBug(
        name="timeout_per_worker",
        backend=f"{_SENDERS}:timeout_per_worker",
        text="Each worker is given the whole time of a send.",
        caught_by="bounded_calls",
        rows=_rows("every_worker_frozen"),
    ),
    PlantedBug(
        name="timeout_tripled",
        backend=f"{_SENDERS}:timeout_tripled",
        text="A send that is late waits twice more, for the whole time again.",
        caught_by="bounded_calls",
        rows=_LATE,
    ),
    PlantedBug(
        name="slow_taken_for_lost",
        backend=f"{_SENDERS}:slow_taken_for_lost",
        text="A send takes every worker for lost that has not answered in an instant.",
        caught_by="expected_outcome",
        rows=_rows("ack_late", "apply_that_is_slow", "forward_during_half_an_apply", keys=_BOTH),
    ),
    PlantedBug(
        name="failure_unexplained",
        backend=f"{_SENDERS}:failure_unexplained",
        text="Whatever went wrong in a worker is replaced by a bare RuntimeError.",
        caught_by="failure_attributed",
        rows=_KILLED | _UNREADABLE | _BROKEN_ACKS | _FACTORIES,
    ),
    PlantedBug(
        name="others_held_up",
        backend=f"{_SENDERS}:others_held_up",
        text="As long as a worker has something left to answer nobody is sent anything.",
        caught_by="acks_aligned",
        rows=_rows("instruction_lost", "ack_lost", "instruction_not_sent", keys=_BOTH)
        | _rows("worker_frozen_before_a_send"),
    ),
    PlantedBug(
        name="unusable_after_a_failure",
        backend=f"{_SENDERS}:unusable_after_a_failure",
        text="After a send that has failed all others are refused.",
        caught_by="acks_aligned",
        rows=_REFUSED | _APPLY_FAILS,
    ),
    PlantedBug(
        name="second_scheme_close_raises",
        backend=f"{_SENDERS}:second_scheme_close_raises",
        text="Closing workers and scheme a second time raises.",
        caught_by="idempotent_close",
        rows=_rows("closed_again_and_again", "shutdown_during_a_send", keys=_BOTH),
    ),
    PlantedBug(
        name="trainer_kept",
        backend=f"{_SENDERS}:trainer_kept",
        text="A list that nobody empties keeps every trainer's workers alive.",
        caught_by="no_leaks",
        rows=_rows("collected_in_a_cycle", keys=_BOTH) | _rows("collected_with_closed_channels"),
    ),
    PlantedBug(
        name="models_counted_together",
        backend=f"{_LIVES}:models_counted_together",
        text="An update of another model counts as a version of the policy.",
        caught_by="models_independent",
        rows=_rows("value_network_sent", keys=_PROCESSES),
    ),
    PlantedBug(
        name="other_models_forgotten",
        backend=f"{_LIVES}:other_models_forgotten",
        text="Updates of other models than the policy are acknowledged and lost.",
        caught_by="models_independent",
        rows=_rows("value_network_sent", keys=_PROCESSES),
    ),
    PlantedBug(
        name="restarted_on_the_first",
        backend=f"{_LIVES}:restarted_on_the_first",
        text="A worker that is started anew is brought what the trainer's model held at first.",
        caught_by="setup_order",
        rows=_rows("worker_started_anew", "dead_worker_started_anew", keys=_SCHEMES),
    ),
    PlantedBug(
        name="recipe_deleted",
        backend=f"{_LIVES}:recipe_deleted",
        text="The recipe of the first weights is deleted once workers have had them.",
        caught_by="expected_outcome",
        rows=_rows("worker_started_anew", keys=_SCHEMES),
    ),
    PlantedBug(
        name="waits_for_nobody",
        backend=f"{_LIVES}:waits_for_nobody",
        text="The wait for what was sent without waiting returns at once.",
        caught_by="acks_aligned",
        rows=_rows("sent_without_waiting_and_refused", keys=_SCHEMES),
    ),
)
"""All of them."""

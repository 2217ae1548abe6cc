"""Every planted bug: what is wrong, who has to catch it, and where."""

from __future__ import annotations

from harness.model.planted import PlantedBug

_FAILING = frozenset({"pool/failing_env[transport=thread]", "pool/failing_env[transport=process]"})
_KILLED = frozenset({"pool/killed_worker[exchange=value]"})
_TIMED = frozenset(
    {
        "pool/stalled_env[transport=thread]",
        "pool/stalled_env[transport=process]",
        "pool/collected_during_receive[transport=process]",
    }
)
_REFUSED = frozenset(
    {
        "weights/update_of_wrong_shape[scheme=copy]",
        "weights/update_of_wrong_key[scheme=copy]",
        "weights/update_of_unknown_keys[scheme=copy]",
    }
)

PLANTED: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="late_reply_taken",
        backend="harness.planted.pool:late_reply_taken",
        text="A receive that times out asks again, and replies are matched by their order: the late "
        "one is taken for the answer of the next request.",
        caught_by="routing",
        rows=_TIMED,
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
        rows=_TIMED,
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
        rows=frozenset(
            {
                "pool/clean_run[host=bare,transport=thread]",
                "pool/clean_run[host=bare,transport=process]",
                "pool/clean_run[host=transformed,transport=thread]",
                "pool/clean_run[host=transformed,transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="applied_without_lock",
        backend="harness.planted.weights:applied_without_lock",
        text="Weights are applied in place without the lock that a forward holds.",
        caught_by="no_torn_forward",
        rows=frozenset(
            {
                "weights/sent_fresh_during_forward[scheme=copy]",
                "weights/sent_in_place_during_forward[scheme=copy]",
            }
        ),
    ),
    PlantedBug(
        name="tensors_aliased",
        backend="harness.planted.weights:tensors_aliased",
        text="Workers see the trainer's own tensors through shared memory.",
        caught_by="weights_isolated",
        rows=frozenset({"weights/trainer_mutates_during_forward[scheme=copy]"}),
    ),
    PlantedBug(
        name="failure_acked",
        backend="harness.planted.weights:failure_acked",
        text="A worker that could not apply an update acknowledges it as if it had.",
        caught_by="acks_aligned",
        rows=_REFUSED,
    ),
    PlantedBug(
        name="ack_without_id",
        backend="harness.planted.weights:ack_without_id",
        text="Acks carry no id, so that one that a failed send left behind answers the next send.",
        caught_by="acks_aligned",
        rows=_REFUSED,
    ),
)
"""All of them, in the order of their checkers."""

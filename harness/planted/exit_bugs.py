"""The planted bugs of leaving, being killed and being interrupted."""

from __future__ import annotations

from harness.model.planted import PlantedBug

_LEFT = frozenset(
    {
        "pool/left_by_return[transport=thread]",
        "pool/left_by_return[transport=process]",
        "pool/left_by_exception[transport=thread]",
        "pool/left_by_exception[transport=process]",
        "pool/left_by_exit[transport=thread]",
        "pool/left_by_exit[transport=process]",
        "pool/interrupted_and_left[transport=thread]",
        "pool/interrupted_and_left[transport=process]",
        "pool/group_interrupted_and_left[transport=thread]",
        "pool/group_interrupted_and_left[transport=process]",
        "pool/worker_died_and_nobody_caught_it[]",
    }
)
_ENDED_WELL = frozenset(
    {
        "pool/left_by_return[transport=thread]",
        "pool/left_by_return[transport=process]",
    }
)

EXIT_BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="owner_unwatched",
        backend="harness.planted.exits:owner_unwatched",
        text="Forked workers hold each other's channels open, and none looks whether its owner lives.",
        caught_by="no_orphans",
        rows=frozenset(
            {
                "pool/owner_killed_in_a_step[]",
                "pool/owner_killed_while_idle[start_method=fork]",
                "pool/owner_killed_while_it_builds[]",
                "pool/owner_terminated_in_a_step[]",
            }
        ),
    ),
    PlantedBug(
        name="joined_at_exit",
        backend="harness.planted.exits:joined_at_exit",
        text="A thread that only a close ends is no daemon: the interpreter waits for it at exit.",
        caught_by="clean_exit",
        rows=_LEFT,
    ),
    PlantedBug(
        name="complaining_finalizer",
        backend="harness.planted.exits:complaining_finalizer",
        text="The finalizer of a pool that nobody has closed raises.",
        caught_by="clean_exit",
        rows=_LEFT,
    ),
    PlantedBug(
        name="noisy_workers",
        backend="harness.planted.exits:noisy_workers",
        text="A SIGINT ends every worker, and each prints a traceback.",
        caught_by="clean_exit",
        rows=frozenset(
            {
                "pool/group_interrupted_and_left[transport=process]",
                "pool/group_interrupted_in_a_receive[transport=process]",
                "pool/interrupted_between_steps[transport=process]",
            }
        ),
    ),
    PlantedBug(
        name="exits_with_zero",
        backend="harness.planted.exits:exits_with_zero",
        text="At exit the process is ended at once, with exit code 0 whatever has happened.",
        caught_by="clean_exit",
        rows=_LEFT - _ENDED_WELL,
    ),
)

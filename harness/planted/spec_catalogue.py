"""The planted bugs of `spec.py`, with the rows that they turn red."""

from __future__ import annotations

from harness.model.planted import PlantedBug

_BARE = (
    "extras_come_back_in_the_root[extras=tensors,host=bare,transport=thread]",
    "extras_come_back_in_the_root[extras=objects,host=bare,transport=thread]",
    "extras_come_back_in_the_root[extras=reward,host=bare,transport=thread]",
)
_RECEIVED = (
    "extras_are_received_in_the_root[extras=tensors,transport=thread]",
    "extras_are_received_in_the_root[extras=objects,transport=thread]",
    "extras_are_received_in_the_root[extras=reward,transport=thread]",
    "received_as_specified[stack=dense,transport=thread]",
    "received_as_specified[stack=lazy,transport=thread]",
)
_OVERWRITTEN = (
    "overwritten_results_do_not_come_back[stack=dense,transport=thread]",
    "overwritten_results_do_not_come_back[stack=lazy,transport=thread]",
)
_HANDED = ("envs_are_handed_their_own_entries[transport=thread]",)
_MASKED_PRIVATE = (
    "masked_private_resets_as_specified[stack=dense,transport=thread]",
    "masked_private_resets_as_specified[stack=lazy,transport=thread]",
)
_PRIVATE = (
    "private_calls_as_specified[stack=dense,transport=thread]",
    "private_calls_as_specified[stack=lazy,transport=thread]",
)
_PUBLIC = tuple(
    f"{scenario}[host={host},stack={stack},transport=thread]"
    for scenario in ("returned_as_specified", "masked_resets_as_specified")
    for host in ("bare", "transformed")
    for stack in ("dense", "lazy")
)
_ROLLOUTS = tuple(
    f"rollouts_as_specified[host={host},transport=thread]"
    for host in ("bare", "transformed", "collector")
)
_TRANSFORMED = tuple(row.replace("host=bare", "host=transformed") for row in _BARE)
_COLLECTED = (
    "collector_rollout[stack=dense,transport=thread]",
    "collector_rollout[stack=lazy,transport=thread]",
)


def _rows(*groups: tuple[str, ...]) -> frozenset[str]:
    return frozenset(f"pool/{row}" for group in groups for row in group)


def _bug(
    name: str, text: str, rows: frozenset[str], caught_by: str = "spec_conformance"
) -> PlantedBug:
    return PlantedBug(
        name=name,
        backend=f"harness.planted.spec:{name}",
        text=text,
        caught_by=caught_by,
        rows=rows,
    )


SPEC_BUGS: tuple[PlantedBug, ...] = (
    _bug(
        "rows_counted",
        "The rows of a receive of steps are numbered as they come, also where only some envs answered.",
        _rows(_RECEIVED[3:]),
    ),
    _bug(
        "extras_rejected",
        "A step refuses what the caller's data holds beside the specs.",
        _rows(_BARE, _ROLLOUTS[2:], _COLLECTED),
        caught_by="expected_outcome",
    ),
    _bug(
        "extras_under_next",
        "A step merges what the caller's data holds beside the specs into its results.",
        _rows(_BARE),
    ),
    _bug(
        "reward_lost",
        "A receive of steps leaves out the rewards.",
        _rows(_RECEIVED, _OVERWRITTEN, _HANDED),
    ),
    _bug(
        "next_written",
        "A step leaves its results in the caller's data.",
        _rows(
            _BARE,
            _HANDED,
            _MASKED_PRIVATE,
            _OVERWRITTEN,
            tuple(r for r in _PUBLIC if "host=bare" in r),
        ),
        caught_by="writes_input",
    ),
    _bug(
        "index_reused",
        "Every result holds one and the same index object.",
        _rows(_OVERWRITTEN[:1]),
    ),
    _bug("index_sent", "The index of an env is handed to the env.", _rows(_HANDED)),
    _bug(
        "spec_of_wrong_dtype",
        "The spec of the rewards says another dtype than they have.",
        _rows(
            _BARE,
            _TRANSFORMED,
            _RECEIVED,
            _OVERWRITTEN,
            _HANDED,
            _MASKED_PRIVATE,
            _PRIVATE,
            _PUBLIC,
            _ROLLOUTS,
        ),
    ),
    _bug(
        "private_reset_incomplete",
        "The reset that transforms call leaves out one of the done entries.",
        _rows(_OVERWRITTEN, _HANDED, _MASKED_PRIVATE, _PRIVATE),
    ),
)

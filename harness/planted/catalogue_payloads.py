"""The planted bugs that only some form of observation, or some way to end, shows."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.planted import PlantedBug

_TRANSPORTS = ("transport=thread", "transport=process")
_STACKED = [f"stack={stack},{each}" for stack in ("dense", "lazy") for each in _TRANSPORTS]


def _rows(scenario: str, keys: Iterable[str] = _TRANSPORTS, before: str = "") -> frozenset[str]:
    return frozenset(f"pool/{scenario}[{before}{key}]" for key in keys)


def _forms(payload: str) -> frozenset[str]:
    return _rows("observations_of_any_form", before=f"payload={payload},")


def _bug(name: str, text: str, caught_by: str, rows: frozenset[str]) -> PlantedBug:
    backend = f"harness.planted.payloads:{name}"
    return PlantedBug(name=name, backend=backend, text=text, caught_by=caught_by, rows=rows)


PAYLOADS: tuple[PlantedBug, ...] = (
    _bug(
        "arrays_handed_out",
        "Workers hand out an env's own arrays: who writes over them changes the end of an episode.",
        "episode_model",
        _rows("final_observation_of_a_reused_array", _STACKED)
        | _rows("received_reused_arrays", _STACKED),
    ),
    _bug(
        "terminated_alone",
        "Where an episode is terminated and truncated at once, the truncation is lost.",
        "episode_model",
        _rows("ends_by_both"),
    ),
    _bug(
        "ending_learnt_once",
        "How an env's first episode ended is told of all its later ones.",
        "episode_model",
        _rows("ends_by_turns", ["exchange=value"]),
    ),
    _bug(
        "inner_key_forgotten",
        "What lies two keys deep is zero.",
        "episode_model",
        _forms("nested") | _rows("reply_without_a_key"),
    ),
    _bug(
        "copied_in_halves",
        "One half of an image is of this step, the other of the one before.",
        "episode_model",
        _forms("image")
        | _forms("huge")
        | _rows("shutdown_with_huge_results_unread", ["exchange=value"]),
    ),
    _bug(
        "integers_through_floats",
        "Integers become float32 on the way, and integers again.",
        "episode_model",
        _forms("scalar"),
    ),
    _bug(
        "made_finite",
        "NaN and infinities are replaced by numbers.",
        "episode_model",
        _forms("special"),
    ),
    _bug(
        "padded_to_the_longest",
        "Observations of different lengths are padded to the longest.",
        "episode_model",
        _rows("children_that_differ", [f"stack=maybe_dense,{each}" for each in _TRANSPORTS])
        | _rows("children_that_differ", [f"stack=lazy,{each}" for each in _TRANSPORTS])
        | _rows("reply_of_another_shape"),
    ),
    _bug(
        "last_reply_kept",
        "Instead of a reply that does not fit, the one before it is handed out.",
        "episode_model",
        _rows("reply_of_another_shape")
        | _rows("reply_of_another_type")
        | _rows("reply_without_a_key"),
    ),
    _bug(
        "first_mask_alone",
        "Of several reset keys only the first counts.",
        "reset_mask",
        _rows("partial_reset_by_several_keys"),
    ),
    _bug(
        "whole_child_reset",
        "A reset of one env of a batched child resets those beside it.",
        "reset_mask",
        _rows("partial_reset_of_batched_children"),
    ),
    _bug(
        "unpicklable_answered_for",
        "An env whose reply cannot be pickled answers as it did the time before.",
        "failure_attributed",
        _rows("reply_that_cannot_be_pickled", [""]),
    ),
)
